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

// Puts the new content of each element that `choose` finds in place, unless it is the same; the focus stays.
function swap(fresh, choose) {
  for (const old of document.querySelectorAll(choose)) {
    const now = old.id && fresh.getElementById(old.id);
    if (!now || old.innerHTML === now.innerHTML) continue;
    const held = old.contains(document.activeElement) ? document.activeElement : null;
    old.replaceChildren(...now.cloneNode(true).childNodes);
    if (!held) continue;
    const again = held.id
      ? document.getElementById(held.id)
      : [...old.querySelectorAll("a[href]")].find((link) => link.getAttribute("href") === held.getAttribute("href"));
    again?.focus();
  }
  offer();
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

function offer() {
  for (const button of document.querySelectorAll("[data-copy]")) {
    button.hidden = !document.getElementById(button.dataset.copy);
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

// Search: `/` goes to the field, typing filters, the address follows.
const search = document.querySelector("[data-search]");
document.addEventListener("keydown", (event) => {
  const typing = event.target.closest?.("input, textarea, select, [contenteditable]");
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || typing) return;
  event.preventDefault();
  if (search) search.elements.q.select();
  else location.assign("/prompts#q");
});

if (search) {
  const ask = latest();
  const field = search.elements.q;
  if (location.hash === "#q") field.focus();
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

// Lines of a run. The page keeps the last of them; who has scrolled up to read stays where they are.
const KEPT = 500;
function append(log, event) {
  const follows = log.scrollHeight - log.scrollTop - log.clientHeight < 40;
  const list = log.querySelector("ol");
  list.append(...document.importNode(parse(`<ol>${event.data}</ol>`).querySelector("ol"), true).children);
  while (list.children.length > KEPT) list.firstElementChild.remove();
  log.dataset.last = event.lastEventId;
  if (follows) log.scrollTop = log.scrollHeight;
}

// Live sections. A hidden tab lets go of its stream: a browser keeps few connections to one host.
const pulse = document.getElementById("pulse");
if (pulse && document.querySelector("[data-live]")) {
  const ask = latest();
  let stream;
  let missed = new Set();
  const refresh = settled(30, async () => {
    const sections = [...missed];
    missed = new Set();
    try {
      const { status, text } = await ask(location.pathname + location.search);
      if (status !== 200) return;
      swap(parse(text), sections.map((section) => `[data-live~="${section}"]`).join());
      if (form && sections.includes("prompts")) {
        refill();
        preview();
      }
    } catch (error) {
      for (const section of sections) missed.add(section);
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
  let met = false;
  const log = document.querySelector("[data-log]");
  const open = () => {
    stream = new EventSource(log ? "/events?" + new URLSearchParams({ task: log.dataset.log, after: log.dataset.last }) : "/events");
    stream.addEventListener("lines", (event) => append(log, event));
    stream.addEventListener("hello", (event) => {
      const version = document.querySelector("[data-version]")?.dataset.version;
      // Another version has other pages and another script.
      if (version && version !== event.data) return location.reload();
      show("live", "Live");
      if (met) touch(["activity", "agents", "clients", "prompts", "tasks"]);
      met = true;
    });
    stream.addEventListener("changed", (event) => touch(event.data.split(" ")));
    stream.addEventListener("error", () => {
      show("away", "Hub is away");
      // A refusal, unlike a lost connection, is not tried again by the browser.
      if (stream.readyState === EventSource.CLOSED) setTimeout(() => document.hidden || open(), 5000);
    });
  };
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) stream?.close();
    else open();
  });
  if (!document.hidden) open();
  // What was said in words about time grows old by itself.
  setInterval(() => document.hidden || touch(["activity", "clients", "tasks"]), 30000);
}

offer();
for (const log of document.querySelectorAll("[data-log]")) log.scrollTop = log.scrollHeight;
