// The console's script. Every page works without it; it keeps sections fresh, searches and previews while one
// types, and copies. It asks the hub for pages and takes parts out of them, so all HTML is made in one place.
"use strict";

const page = document.documentElement;
page.classList.add("scripted");

const parse = (text) => new DOMParser().parseFromString(text, "text/html");

// Calls `act` once things have been quiet for `pause` milliseconds.
function settled(pause, act) {
  let timer;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(act, pause);
  };
}

// Takes over the token of a newer page: a hub that was started anew takes none of the old one, and what is filled in on
// an open page has to be good for it. With the same token, a part that did not change is the same text.
function renew(fresh) {
  const token = fresh.querySelector("input[name=csrf]")?.value;
  if (!token) return;
  for (const input of document.querySelectorAll("input[name=csrf]")) input.value = token;
}

// Where a person reads in a part that scrolls; undefined for one who follows its end.
function reading(part) {
  const follows = part.scrollTop > 0 && part.scrollHeight - part.scrollTop - part.clientHeight < 20;
  return follows ? undefined : part.scrollTop;
}

// Resolved while nothing is pressed. The browser sends no click to a link that is replaced between press and release,
// so a live change waits for the release; where the browser reports none, for three seconds.
let released = Promise.resolve();
document.addEventListener(
  "pointerdown",
  () => {
    released = new Promise((done) => {
      // The click follows its release at once, before any timer.
      for (const end of ["pointerup", "pointercancel"]) addEventListener(end, () => setTimeout(done), { once: true, capture: true });
      setTimeout(done, 3000);
    });
  },
  { capture: true },
);

// Letters and digits are keys outside of fields, unless the user has switched them off at /keys (WCAG 2.2, 2.1.4).
const fieldTypes = "textarea, select, input:not([type=radio], [type=checkbox]), [contenteditable]";
const isShortcut = (event) =>
  !event.ctrlKey && !event.metaKey && !event.altKey && !event.isComposing && !event.target.closest?.(fieldTypes) && localStorage.getItem("keys") !== "off";

// G and a letter open a section. What follows G is meant for nothing else.
const GOES = { i: "/", t: "/tasks", s: "/codex", a: "/timeline", p: "/prompts", n: "/agents", c: "/calendar", ",": "/settings" };
let went = -Infinity;
document.addEventListener("keydown", (event) => {
  if (!isShortcut(event)) return;
  const after = performance.now() - went < 1500;
  went = event.key === "g" && !after ? performance.now() : -Infinity;
  if (!after && event.key !== "g") return;
  event.stopImmediatePropagation();
  event.preventDefault();
  if (after && GOES[event.key]) location.assign(GOES[event.key]);
});

// Puts the new content of each element that `choose` finds in place, unless it is the same. The focus stays, and
// so does what was opened, closed, scrolled or typed.
function swap(fresh, choose) {
  renew(fresh);
  localize(fresh);
  // Before it is in the page, where a button that appears would move all below it.
  offer(fresh);
  const follows = document.querySelector(".composer") && innerHeight + scrollY > page.scrollHeight - 60;
  for (const old of document.querySelectorAll(choose)) {
    const now = old.id && fresh.getElementById(old.id);
    if (!now || old.innerHTML === now.innerHTML) continue;
    // Text that somebody selects stays until the selection ends.
    const selection = getSelection();
    if (!selection.isCollapsed && old.contains(selection.anchorNode)) continue;
    const held = old.contains(document.activeElement) ? document.activeElement : null;
    const fields = [...old.querySelectorAll("input[id]:not([type=hidden]), textarea[id]")];
    const typed = fields.filter((field) => field.value !== field.defaultValue || field.checked !== field.defaultChecked).map(({ id, value, checked }) => [id, { value, checked }]);
    const kept = [...old.querySelectorAll("details[id], .sheet[id], .week[id]")].map((part) => [part.id, part.open, reading(part)]);
    old.replaceChildren(...now.cloneNode(true).childNodes);
    for (const [id, open, where] of kept) {
      const part = document.getElementById(id);
      if (!part) continue;
      if (open !== undefined) part.open = open;
      part.scrollTop = where ?? part.scrollHeight;
    }
    for (const [id, state] of typed) Object.assign(document.getElementById(id) ?? {}, state);
    if (!held) continue;
    const again = held.id
      ? document.getElementById(held.id)
      : held.matches("details[id] > summary")
        ? document.getElementById(held.parentElement.id)?.querySelector("summary")
        : [...old.querySelectorAll("a[href]")].find((link) => link.getAttribute("href") === held.getAttribute("href"));
    again?.focus({ preventScroll: true });
    if (again && typeof held.selectionStart === "number") again.setSelectionRange(held.selectionStart, held.selectionEnd);
  }
  offer(document);
  count();
  if (follows) scrollTo(0, page.scrollHeight);
}

// Times on the clock of this place: a deadline and an old time with the day (`tomorrow, 14:20`), and on hover all of it.
const DAY = 86400000;
// The first use of Intl loads the data of a language, which takes longer than the rest of this script. What a page shows at first
// is written without it.
const NEAR = { "-1": "yesterday", 0: "today", 1: "tomorrow" };
const midnight = (date) => new Date(date).setHours(0, 0, 0, 0);
const two = (number) => String(number).padStart(2, "0");
const clock = (at) => `${two(at.getHours())}:${two(at.getMinutes())}`;
function day(at) {
  const far = Math.round((midnight(at) - midnight(Date.now())) / DAY);
  return NEAR[far] ?? at.toLocaleDateString("en-GB", { weekday: "short", day: "numeric", month: "short" });
}
// The day on hover is there once the page is painted.
let painted = false;
function date(where) {
  for (const time of where.querySelectorAll("time[data-local], time[data-clock], time[title]")) {
    const at = new Date(time.dateTime);
    // Those with their day were done before.
    if (time.title.length <= 20 && !isNaN(at)) time.title = at.toLocaleString("en-GB", { dateStyle: "full", timeStyle: "short" });
  }
}
function localize(where) {
  for (const time of where.querySelectorAll("time[data-local], time[data-clock], time[title]")) {
    const at = new Date(time.dateTime);
    if (isNaN(at)) continue;
    if ("clock" in time.dataset) {
      const before = time.dataset.clock === "day" && midnight(at) !== midnight(Date.now()) ? `${day(at)}, ` : "";
      time.textContent = `${before}${clock(at)}:${two(at.getSeconds())}`;
      continue;
    }
    // Of a close deadline, the time that is left says more.
    if ("local" in time.dataset ? at - Date.now() > DAY / 12 : Date.now() - at >= DAY) time.textContent = `${day(at)}, ${clock(at)}`;
  }
  // The lines of the activity are below their day.
  for (const list of where.querySelectorAll(".timeline:not(:has(.day))")) {
    let last;
    for (const line of [...list.children]) {
      const at = new Date(line.querySelector("time")?.dateTime);
      if (isNaN(at)) continue;
      if (day(at) !== last) {
        last = day(at);
        const head = document.createElement("li");
        head.className = "day";
        head.textContent = last[0].toUpperCase() + last.slice(1);
        line.before(head);
      }
      if (last !== day(new Date())) line.querySelector("time").textContent = clock(at);
    }
  }
  if (painted) date(where);
}

// Only the last of several requests may answer.
function latest() {
  let running;
  return async (address, options) => {
    running?.abort();
    running = new AbortController();
    const answer = await fetch(address, { ...options, signal: running.signal, credentials: "same-origin" });
    return { status: answer.status, text: await answer.text() };
  };
}

const quietly = (error) => {
  if (error.name !== "AbortError") console.warn("adjutant:", error.message);
};

// Copying. A hidden character stands in the page as a mark with its code; the copy has the character.
function exact(node) {
  const copy = node.cloneNode(true);
  for (const mark of copy.querySelectorAll("mark[data-code]")) {
    mark.replaceWith(String.fromCodePoint(parseInt(mark.dataset.code, 16)));
  }
  return copy.textContent;
}

function offer(where) {
  for (const button of where.querySelectorAll("[data-copy]")) {
    button.hidden = !where.getElementById(button.dataset.copy);
  }
}

document.addEventListener("click", async (event) => {
  const button = event.target.closest?.("[data-copy]");
  const from = button && document.getElementById(button.dataset.copy);
  if (!from) return;
  try {
    await navigator.clipboard.writeText(exact(from));
    button.textContent = "Copied";
  } catch {
    getSelection().selectAllChildren(from);
    button.textContent = "Selected";
  }
  setTimeout(() => (button.textContent = "Copy"), 1600);
});

// Search: `/` goes to the field, or opens the palette; typing filters, the address follows.
const search = document.querySelector("[data-search]");
document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || !isShortcut(event)) return;
  event.preventDefault();
  if (search) search.elements.q.select();
  else document.getElementById("find")?.click();
});

if (search) {
  const ask = latest();
  const field = search.elements.q;
  const look = async () => {
    const said = [...new FormData(search)].map(([name, value]) => [name, value.trim()]).filter(([, value]) => value);
    const address = search.getAttribute("action") + (said.length ? "?" + new URLSearchParams(said) : "");
    try {
      const { status, text } = await ask(address);
      if (status !== 200) return;
      swap(parse(text), "#results");
      history.replaceState(null, "", address);
    } catch (error) {
      quietly(error);
    }
  };
  field.addEventListener("input", settled(120, look));
  field.addEventListener("keydown", (event) => {
    const first = document.querySelector("#results a.name");
    if (event.key === "ArrowDown" && first) {
      event.preventDefault();
      first.focus();
    }
  });
  search.addEventListener("submit", (event) => {
    event.preventDefault();
    look();
  });
}

// The palette: Ctrl-K on every page. It is the page /find in a dialog; the hub searches, arrows walk, Enter goes.
const palette = document.getElementById("palette");
if (palette) {
  const field = document.getElementById("palette-q");
  const found = document.getElementById("palette-found");
  const ask = latest();
  const look = async (address = "/find?" + new URLSearchParams({ q: field.value.trim() })) => {
    try {
      const { status, text } = await ask(address);
      const fresh = parse(text).getElementById("found");
      if (status !== 200 || !fresh) return false;
      found.replaceChildren(...fresh.cloneNode(true).childNodes);
      return true;
    } catch (error) {
      quietly(error);
      return false;
    }
  };
  // Browsers take the focus from a field that is hidden no earlier than in the next frame, and until then keys are text of the field.
  const hide = () => {
    palette.close();
    if (palette.contains(document.activeElement)) document.activeElement.blur();
  };
  const toggle = (event, address) => {
    event.preventDefault();
    if (palette.open) return hide();
    field.value = "";
    found.replaceChildren();
    palette.showModal();
    field.focus();
    look(address);
  };
  document.getElementById("find").addEventListener("click", (event) => toggle(event));
  document.addEventListener("keydown", (event) => {
    if (event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey) toggle(event);
    if (event.key === "?" && isShortcut(event)) toggle(event, "/keys");
  });
  field.addEventListener("input", settled(120, () => look()));
  palette.addEventListener("submit", async (event) => {
    if (found.contains(event.target)) return;
    event.preventDefault();
    if (!field.value && found.querySelector(".key-list")) return;
    // The search that typing has started may take the place of the first one.
    if ((await look()) || (await look())) found.querySelector("a, button")?.click();
  });
  palette.addEventListener("click", (event) => (event.target === palette || event.target.id === "palette-close") && hide());
  palette.addEventListener("keydown", (event) => {
    // What a page does with its keys is not meant here.
    event.stopPropagation();
    if (event.isComposing) return;
    if (event.key === "Escape" || (event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey))) return toggle(event);
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    // What is typed at a hit goes on in the field.
    if (!step && (event.key === "Backspace" || (event.key.length === 1 && event.key !== " " && !event.ctrlKey && !event.metaKey && !event.altKey))) field.focus();
    if (!step) return;
    event.preventDefault();
    // While the field has the focus, the first hit is the chosen one.
    const links = [...found.querySelectorAll("a, button")];
    const next = Math.max(links.indexOf(document.activeElement), 0) + step;
    (next <= 0 ? field : links[Math.min(next, links.length - 1)] ?? field).focus();
  });
}

// Preview: the form is sent as it would be without script, and the answer's parts are put in place.
const form = document.querySelector("[data-try]");
const ask_preview = latest();
async function preview() {
  try {
    const body = new URLSearchParams(new FormData(form));
    const address = form.getAttribute("action") + "?part=try";
    const { status, text } = await ask_preview(address, { method: "POST", body });
    if (status !== 200) return;
    swap(parse(text), "[data-part]");
    for (const error of document.querySelectorAll("[data-for]")) {
      const field = document.getElementById(error.dataset.for);
      if (error.textContent) field?.setAttribute("aria-invalid", "true");
      else field?.removeAttribute("aria-invalid");
    }
  } catch (error) {
    quietly(error);
  }
}

// What a person has filled in so far, by name. It outlives the fields, which are made anew with the prompt.
const filled = new Map();
const state = (field) => (field.type === "checkbox" ? "checked" : "value");
function refill() {
  for (const field of form.elements) {
    if (filled.has(field.name)) field[state(field)] = filled.get(field.name);
  }
}

if (form) {
  form.addEventListener("input", (event) => filled.set(event.target.name, event.target[state(event.target)]));
  form.addEventListener("input", settled(200, preview));
  form.addEventListener("submit", (event) => {
    if (event.submitter?.name === "download") return;
    event.preventDefault();
    preview();
  });
}

// What comes the moment something appears was meant for something else; the hub holds the same for its forms.
const CALM = 600;
const calm = (since) => performance.now() - since < CALM;

// Counts go down, and the time of a running task up, between two looks at the hub, which alone decides.
let counted = performance.now();
const elapsed = (seconds) => {
  const minutes = Math.floor(seconds / 60);
  if (!minutes) return `${seconds} s`;
  return minutes < 60 ? `${minutes} min ${String(seconds % 60).padStart(2, "0")} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
};
function count() {
  const passed = performance.now() - counted;
  counted += passed;
  for (const clock of document.querySelectorAll("[data-left]")) {
    if ("whileSeen" in clock.dataset && document.hidden) continue;
    clock.dataset.left = Math.max(0, clock.dataset.left - passed);
    clock.textContent = `${Math.ceil(clock.dataset.left / 1000)} s`;
  }
  for (const time of document.querySelectorAll("[data-since]")) {
    const text = elapsed(Math.max(0, Math.floor((Date.now() - new Date(time.dateTime)) / 1000)));
    if (time.textContent !== text) time.textContent = text;
  }
}
count();
setInterval(count, 250);

// A question. What is typed stays while the page around it changes; the form opens and closes with the question.
// Keys: digits choose, Enter answers, R takes what the agent recommends, J opens the next question, Escape goes one step back.
const SEEN = 3000;
const answer = document.querySelector("[data-answer]");
let question;
if (answer) {
  const fields = answer.querySelector("fieldset");
  const typing = (target) => target.closest?.(fieldTypes);
  let appeared = performance.now();
  const hurried = () => calm(appeared);

  // Shows the pause in which keys do nothing.
  const wait = () => {
    for (const button of answer.querySelectorAll("#options > button, #confirm, #decline")) {
      if (!hurried() || button.hasAttribute("aria-disabled")) continue;
      button.setAttribute("aria-disabled", "true");
      setTimeout(() => button.removeAttribute("aria-disabled"), CALM - (performance.now() - appeared));
    }
  };
  wait();
  const tooEarly = () => {
    answer.classList.add("hurried");
    wait();
  };

  // Takes over what a newer page says about the form: whether it is open, and what is wrong with it.
  question = (fresh) => {
    const now = fresh.getElementById("answer-fields");
    if (!now || now.disabled === fields.disabled) return;
    fields.disabled = now.disabled;
    appeared = performance.now();
    wait();
    if (!now.disabled) tell();
    count();
  };

  // Only what somebody can see is seen.
  const tell = () => {
    if (document.hidden || fields.disabled) return;
    const body = new URLSearchParams({ csrf: answer.elements.csrf.value });
    fetch(location.pathname + "/seen", { method: "POST", body, credentials: "same-origin" }).catch(quietly);
  };
  tell();
  setInterval(tell, SEEN);
  document.addEventListener("visibilitychange", () => {
    appeared = performance.now();
    wait();
    tell();
  });

  const send = latest();
  const submit = async (form, button) => {
    const data = new FormData(form, button);
    const body = form.enctype === "multipart/form-data" ? data : new URLSearchParams(data);
    try {
      const { status, text } = await send(form.getAttribute("action"), { method: "POST", body });
      const fresh = parse(text);
      if (status !== 200 || !fresh.getElementById("answer-fields")) return form.submit();
      swap(fresh, '[data-live~="questions"], [data-part]');
      question(fresh);
      const secret = document.getElementById("passphrase");
      if (secret) secret.value = "";
      const fault = [...answer.querySelectorAll(".error")].find((error) => error.textContent.trim());
      const wrong = fault && ((fault.id === "fault" && secret) || fault.parentElement.querySelector("input:not([type=hidden]), textarea"));
      if (fault) wrong?.focus();
      else if (fields.disabled) document.getElementById("undo")?.focus({ preventScroll: true });
    } catch (error) {
      quietly(error);
      if (error.name === "AbortError") return;
      document.getElementById("fault").textContent = "The hub does not answer, so nothing was done. What you filled in stays here." + remedy();
    }
  };
  document.addEventListener("submit", (event) => {
    if (event.target !== answer && !event.target.matches("[data-undo]")) return;
    event.preventDefault();
    if (event.target === answer && hurried()) return tooEarly();
    submit(event.target, event.submitter ?? undefined);
  });

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    const { key, target } = event;
    if (key === "Escape") {
      const more = document.getElementById("more");
      const chosen = answer.querySelector("fieldset:enabled :checked:is(input)");
      const undo = document.getElementById("undo");
      if (undo) undo.click();
      else if (typing(target)) target.blur();
      else if (more.open) more.open = false;
      else if (chosen) for (const input of answer.querySelectorAll("input:checked")) input.checked = false;
      else location.assign("/questions");
      event.preventDefault();
      return;
    }
    if (fields.disabled || typing(target)) return;
    if (hurried()) return tooEarly();
    const recommended = answer.querySelector("[data-recommended]");
    const confirm = document.getElementById("confirm");
    const button = isShortcut(event) && answer.querySelector(key === "r" ? "button[data-recommended]" : `button[data-digit="${CSS.escape(key)}"]`);
    // A button is pressed by Enter, once somebody has seen where a key has led.
    if (button) {
      button.focus();
      event.preventDefault();
    } else if (key === "r" && recommended && isShortcut(event)) {
      // Whoever has chosen another option means that one.
      if (answer.querySelector("[data-digit]:checked:not([data-recommended])")) return;
      recommended.checked = true;
      answer.requestSubmit(confirm);
    } else if (/^[1-9]$/.test(key) && isShortcut(event)) {
      const input = answer.querySelector(`[data-digit="${key}"]`);
      if (!input) return;
      if (input.type === "checkbox") input.checked = !input.checked;
      else input.checked = true;
      // The next key is the first letter of words of one's own, and no other shortcut.
      const own = input.value === "other" && input.checked && input.closest(".option").nextElementSibling;
      (own || input).focus();
      event.preventDefault();
    } else if (key === "Enter" && confirm && !target.closest("a, button, summary")) {
      event.preventDefault();
      answer.requestSubmit(confirm);
    }
  });
  // Files come from the field, from the clipboard, or are dropped on the page; each way adds to those before it.
  const picker = document.getElementById("files");
  if (picker) {
    let chosen = [];
    const show = () => {
      const all = new DataTransfer();
      for (const file of chosen) all.items.add(file);
      picker.files = all.files;
      document.getElementById("files-chosen").replaceChildren(
        ...chosen.map((file, at) => {
          const row = document.createElement("li");
          const remove = document.createElement("button");
          remove.type = "button";
          remove.className = "small";
          remove.textContent = "Remove";
          remove.setAttribute("aria-label", `Remove ${file.name}`);
          remove.addEventListener("click", () => {
            chosen.splice(at, 1);
            show();
            picker.focus();
          });
          const name = document.createElement("span");
          name.textContent = `${file.name}, ${Math.max(1, Math.round(file.size / 1024))} KiB`;
          row.append(name, remove);
          return row;
        }),
      );
    };
    const add = (files) => {
      if (fields.disabled || !files.length) return false;
      chosen.push(...files);
      picker.closest("details").open = true;
      show();
      return true;
    };
    picker.addEventListener("change", () => add([...picker.files].filter((file) => !chosen.includes(file))));
    document.addEventListener("paste", (event) => add([...event.clipboardData.files]) && event.preventDefault());
    const holds = (event) => event.dataTransfer?.types.includes("Files");
    document.addEventListener("dragover", (event) => {
      if (!holds(event)) return;
      event.preventDefault();
      document.getElementById("attach").classList.add("target");
    });
    for (const over of ["drop", "dragleave"]) {
      document.addEventListener(over, (event) => {
        document.getElementById("attach").classList.remove("target");
        if (over === "drop" && holds(event)) {
          event.preventDefault();
          add([...event.dataTransfer.files]);
        }
      });
    }
  }
  // Words of one's own are the choice of them.
  answer.addEventListener("input", (event) => {
    const own = event.target.id.endsWith("-own") && event.target;
    const tick = own && own.parentElement.querySelector("[value=other]");
    if (tick) tick.checked = own.value !== "";
  });
}

// Forms that decide something without a page of their own. Each keeps the moment in which it appeared here, whatever else
// the page looks up, and its buttons do nothing before a person can have read it. A press that is too early makes a bar show the
// pause.
const known = new Map();
const paused = (form) => calm(known.get(form.dataset.pause)?.since ?? performance.now());
function asks(where) {
  for (const form of where.querySelectorAll("form[data-pause]")) {
    const { made } = form.elements;
    if (!known.has(form.dataset.pause)) {
      if (where !== document) continue;
      known.set(form.dataset.pause, { since: performance.now(), made: made.value });
      setTimeout(() => asks(document), CALM + 10);
    }
    made.value = known.get(form.dataset.pause).made;
    for (const button of form.querySelectorAll("button")) {
      if (paused(form)) button.setAttribute("aria-disabled", "true");
      else button.removeAttribute("aria-disabled");
    }
  }
}
asks(document);
document.addEventListener("submit", (event) => {
  if (!event.target.dataset.pause || !paused(event.target)) return;
  event.preventDefault();
  event.target.classList.add("hurried");
});
document.addEventListener("visibilitychange", () => {
  for (const one of known.values()) one.since = performance.now();
  asks(document);
  setTimeout(() => asks(document), CALM + 10);
});

// Approvals together: the button names the number of answers that it sends.
const together = document.querySelector(".together");
if (together) {
  const send = document.getElementById("answer-chosen");
  const show = () => {
    const chosen = together.querySelectorAll("input:checked:not([value=''])").length;
    send.disabled = !chosen;
    send.textContent = chosen ? `Answer ${chosen} ${chosen === 1 ? "approval" : "approvals"}` : "Answer as chosen";
  };
  together.addEventListener("change", show);
  // A browser that goes back fills in what was chosen after this.
  addEventListener("pageshow", show);
  show();
}

// The Inbox: an answer is sent and the list brought up to date in place. Any other page in return is opened.
const inbox = document.getElementById("list-questions");
if (inbox) {
  const send = latest();
  document.addEventListener("submit", async (event) => {
    if (event.defaultPrevented || !inbox.contains(event.target)) return;
    event.preventDefault();
    const form = event.target;
    try {
      const action = form.getAttribute("action");
      const { text } = await send(action, { method: "POST", body: new URLSearchParams(new FormData(form, event.submitter)) });
      const fresh = parse(text);
      if (!fresh.getElementById("list-questions")) return form.matches(".answer") ? form.submit() : location.assign(action.replace("/undo", ""));
      asks(fresh);
      swap(fresh, '[data-live~="questions"]');
      asks(document);
      inbox.querySelector("[id^=undo-], .ask a.name")?.focus({ preventScroll: true });
    } catch (error) {
      quietly(error);
    }
  });
}

// J and K walk through a list, and from one question to the next of the list at its side. C opens the form of the page for
// something new. In the Inbox, a digit moves to an answer of the question that has the focus, and R to the recommended one; 1
// opens the form of a question that has one.
document.addEventListener("keydown", (event) => {
  if (!isShortcut(event)) return;
  const begin = event.key === "c" && document.querySelector(".begin > summary.button");
  if (begin) {
    event.preventDefault();
    if (!begin.parentElement.open) begin.click();
    return begin.parentElement.querySelector("textarea").focus();
  }
  const ask = document.activeElement.closest(".ask");
  const form = ask?.querySelector("details:has(form)");
  if (form && event.key === "1") {
    form.open = true;
    event.preventDefault();
    return form.querySelector("form :is(input:not([type=hidden]), textarea)").focus();
  }
  const buttons = [...(ask?.querySelectorAll(".actions > button, .actions > a.button") ?? [])];
  const button = event.key === "r" ? buttons.find((one) => one.classList.contains("primary")) : buttons[event.key - 1];
  if (button) return button.focus();
  const step = { j: 1, k: -1 }[event.key];
  if (!step) return;
  const here = document.querySelector(".queue [aria-current]")?.parentElement;
  const beside = (step === 1 ? here?.nextElementSibling : here?.previousElementSibling)?.querySelector("a");
  const page = beside ?? (step === 1 && document.getElementById("next"));
  if (page || answer) return page && page.click();
  const links = [...document.querySelectorAll(".ask a.name, .tasks a.name, .prompts a.name, .timeline p > a, .timeline .reason > a, .found a.name")];
  const held = document.activeElement.closest(".ask")?.querySelector("a.name") ?? document.activeElement;
  const at = links.indexOf(held);
  links[at < 0 ? 0 : Math.min(Math.max(at + step, 0), links.length - 1)]?.focus();
});

// The page of the keys has a switch for them.
const keys = document.getElementById("keys-switch");
if (keys) {
  const show = () => (keys.textContent = `Turn letter and digit keys ${localStorage.getItem("keys") === "off" ? "on" : "off"}`);
  keys.hidden = false;
  show();
  keys.addEventListener("click", () => {
    localStorage.setItem("keys", localStorage.getItem("keys") === "off" ? "on" : "off");
    show();
  });
}

// Lines of a run. The page keeps the last of them; who has scrolled up to read stays where they are.
const KEPT = 500;
function show_last(log) {
  const last = log?.querySelector("ol > :last-child");
  if (last) document.getElementById("last-event")?.replaceChildren(...last.cloneNode(true).childNodes);
}
function append(log, event) {
  const follows = log.scrollHeight - log.scrollTop - log.clientHeight < 40;
  const list = log.querySelector("ol");
  list.append(...document.importNode(parse(`<ol>${event.data}</ol>`).querySelector("ol"), true).children);
  while (list.children.length > KEPT) list.firstElementChild.remove();
  localize(list);
  show_last(log);
  log.dataset.last = event.lastEventId;
  if (follows) log.scrollTop = log.scrollHeight;
}

// Notifications of this browser, on request: one as often as the number of pending questions grows while the tab is hidden. It
// shows nothing of a question, because others may see the screen.
const bell = document.getElementById("bell");
const rings = () => window.Notification?.permission === "granted" && localStorage.getItem("notify") === "yes";
function offer_bell() {
  const button = document.getElementById("bell");
  if (!button) return;
  button.hidden = !window.Notification || Notification.permission === "denied";
  button.setAttribute("aria-pressed", rings());
}
if (bell) {
  offer_bell();
  document.addEventListener("click", async (event) => {
    if (event.target.id !== "bell") return;
    const on = !rings() && (await Notification.requestPermission()) === "granted";
    localStorage.setItem("notify", on ? "yes" : "no");
    offer_bell();
  });
}
const waiting = (where) => parseInt(where.getElementById("badge")?.textContent) || 0;
function ring(before) {
  const now = waiting(document);
  if (now <= before || !document.hidden || !rings()) return;
  const shown = new Notification("A question needs your answer", { body: `${now} pending`, tag: "adjutant", icon: document.getElementById("icon").href });
  shown.addEventListener("click", () => (focus(), location.assign("/"), shown.close()));
}

// Live sections. A hidden tab lets go of its stream, unless it notifies: a browser keeps few connections to one host.
const pulse = document.getElementById("pulse");
// Only on the hub's machine can its user start it.
const remedy = () => (pulse?.dataset.start ? ` To start it: ${pulse.dataset.start}` : "");
if (pulse && document.querySelector("[data-live]")) {
  const ask = latest();
  const log = document.querySelector("[data-log]");
  let stream;
  let missed = new Set();
  // What was asked for and is not shown yet: a later look puts an end to the one before it, and shows its sections too.
  const looked = new Set();
  const refresh = settled(5, async () => {
    for (const section of missed) looked.add(section);
    missed = new Set();
    try {
      const { status, text } = await ask(location.pathname + location.search);
      if (status !== 200) return;
      const sections = [...looked];
      looked.clear();
      const fresh = parse(text);
      document.title = fresh.title;
      document.getElementById("icon").href = fresh.getElementById("icon").href;
      await released;
      // What is known is made the same before it is put in place, so that it stays where it is.
      asks(fresh);
      const before = waiting(document);
      swap(fresh, sections.map((section) => `[data-live~="${section}"]`).join());
      // The page may have been read before the last line of the log came.
      show_last(log);
      asks(document);
      ring(before);
      if (sections.includes("questions")) question?.(fresh);
      if (form && sections.includes("prompts")) {
        refill();
        preview();
      }
    } catch (error) {
      quietly(error);
    }
  });
  const touch = (sections) => {
    for (const section of sections) missed.add(section);
    refresh();
  };
  const show = (state, text) => {
    pulse.hidden = false;
    pulse.className = "pulse " + state;
    if (pulse.textContent !== text) pulse.textContent = text;
  };
  const open = () => {
    stream = new EventSource(log ? "/events?" + new URLSearchParams({ task: log.dataset.log, after: log.dataset.last }) : "/events");
    stream.addEventListener("lines", (event) => append(log, event));
    stream.addEventListener("hello", (event) => {
      const version = document.querySelector("[data-version]")?.dataset.version;
      // Another version has other pages and another script.
      if (version && version !== event.data) return location.reload();
      show("live", "Live");
      // What changed between the page and its stream was told to nobody.
      touch(["activity", "agenda", "agents", "clients", "codex", "prompts", "questions", "toolsets", "tasks"]);
    });
    stream.addEventListener("changed", (event) => touch(event.data.split(" ")));
    stream.addEventListener("error", () => {
      show("away", "No hub answers." + remedy());
      // A refusal, unlike a lost connection, is not tried again by the browser.
      if (stream.readyState === EventSource.CLOSED) setTimeout(() => document.hidden || open(), 5000);
    });
  };
  document.addEventListener("visibilitychange", () => {
    if (rings()) return;
    if (document.hidden) stream?.close();
    else open();
  });
  if (!document.hidden || rings()) open();
  // What was said in words about time grows old by itself.
  setInterval(() => document.hidden || touch(["activity", "clients", "questions", "tasks"]), 30000);
}

offer(document);
localize(document);
const paint = () => {
  painted = true;
  date(document);
};
// A hidden page is never painted. In the second frame, because the browser still draws the first one when it calls for it.
if (document.hidden) paint();
else requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(paint)));
for (const week of document.querySelectorAll("[data-opens-at]")) week.scrollTop = week.dataset.opensAt;
for (const log of document.querySelectorAll("[data-log]")) log.scrollTop = log.scrollHeight;
// A conversation opens at its end.
if (document.querySelector(".composer") && !location.hash && !location.search) scrollTo(0, page.scrollHeight);
