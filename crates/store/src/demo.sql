-- Example data of `serve --demo`: a shop's repository, its questions, tasks and one Codex session.
-- `@now` is the present in milliseconds, `@shop` the folder of the shop, `@folder` the same in a text.

-- Questions: three decided, four pending
INSERT INTO questions (id, seq, fingerprint, asker, client, workspace, title, level, state, kind, asked_at, deadline, default_after, seen_ms, decided_at, outcome)
VALUES ('qdem00000000000000001', 1, 'qdem00000000000000001', 'demo', 'claude-code', '@shop', 'Which date format do invoices use?', 'normal', 'decided', 'answered', @now - 111600000, @now - 25200000, NULL, 0, @now - 108000000, '{"kind":"answered","answer":[["answer",{"choices":["locale"]}]],"note":"Customers read them, machines do not.","ask_differently":false,"by":"user","through":"browser","at":' || (@now - 1800 * 60000) || ',"seen_ms":9000}')
;
INSERT INTO question_bodies VALUES ('qdem00000000000000001', 'The German locale prints `23.11.2026`, the API returns `2026-11-23`.

Invoices of last year mix both.', '{"fields":[{"name":"answer","label":"","description":"","required":true,"input":{"kind":"choice","options":[{"label":"ISO 8601 (recommended)","value":"iso"},{"label":"The customer''s locale","value":"locale"}],"min":1,"max":1,"other":false}}],"default":null}')
;
INSERT INTO question_deliveries (question, asker, stream, request, session, asked_at, lease_until, delivered_at)
VALUES ('qdem00000000000000001', 'demo', '', '', '', @now - 111600000, @now + 31536000000, @now - 108000000)
;
INSERT INTO question_events VALUES ('qdem00000000000000001', 1, @now - 111600000, 'asked', '')
;
INSERT INTO question_events VALUES ('qdem00000000000000001', 2, @now - 108000000, 'answered', 'browser')
;
INSERT INTO questions (id, seq, fingerprint, asker, client, workspace, title, level, state, kind, asked_at, deadline, default_after, seen_ms, decided_at, outcome)
VALUES ('qdem00000000000000002', 2, 'qdem00000000000000002', 'demo', 'copilot', '@shop', 'Delete the unused product images?', 'normal', 'decided', 'declined', @now - 97200000, @now - 10800000, NULL, 0, @now - 95400000, '{"kind":"declined","answer":null,"note":"The print catalogue uses them.","ask_differently":false,"by":"user","through":"browser","at":' || (@now - 1590 * 60000) || ',"seen_ms":9000}')
;
INSERT INTO question_bodies VALUES ('qdem00000000000000002', '142 files in `assets/products` are referenced by no template (38 MB).', '{"fields":[{"name":"answer","label":"","description":"","required":true,"input":{"kind":"choice","options":[{"label":"Delete them","value":"delete"},{"label":"Keep them","value":"keep"}],"min":1,"max":1,"other":false}}],"default":null}')
;
INSERT INTO question_deliveries (question, asker, stream, request, session, asked_at, lease_until, delivered_at)
VALUES ('qdem00000000000000002', 'demo', '', '', '', @now - 97200000, @now + 31536000000, @now - 95400000)
;
INSERT INTO question_events VALUES ('qdem00000000000000002', 1, @now - 97200000, 'asked', '')
;
INSERT INTO question_events VALUES ('qdem00000000000000002', 2, @now - 95400000, 'declined', 'browser')
;
INSERT INTO questions (id, seq, fingerprint, asker, client, workspace, title, level, state, kind, asked_at, deadline, default_after, seen_ms, decided_at, outcome)
VALUES ('qdem00000000000000003', 3, 'qdem00000000000000003', 'demo', 'codex', '@shop', 'Allow: npm install --save-dev vitest', 'normal', 'decided', 'answered', @now - 18000000, @now + 68400000, NULL, 0, @now - 17940000, '{"kind":"answered","answer":[["decision",{"choices":["approve"]}]],"note":null,"ask_differently":false,"by":"user","through":"phone","at":' || (@now - 299 * 60000) || ',"seen_ms":9000}')
;
INSERT INTO question_bodies VALUES ('qdem00000000000000003', '```sh
npm install --save-dev vitest
```

Folder: `@folder`', '{"fields":[{"name":"decision","label":"","description":"","required":true,"input":{"kind":"choice","options":[{"label":"Approve","value":"approve"},{"label":"Approve for this session","value":"session"},{"label":"Deny","value":"deny"}],"min":1,"max":1,"other":false}}],"default":null,"denials":["deny"]}')
;
INSERT INTO question_deliveries (question, asker, stream, request, session, asked_at, lease_until, delivered_at)
VALUES ('qdem00000000000000003', 'demo', '', '', '', @now - 18000000, @now + 31536000000, @now - 17940000)
;
INSERT INTO question_events VALUES ('qdem00000000000000003', 1, @now - 18000000, 'asked', '')
;
INSERT INTO question_events VALUES ('qdem00000000000000003', 2, @now - 17940000, 'answered', 'phone')
;
INSERT INTO questions (id, seq, fingerprint, asker, client, workspace, title, level, state, kind, asked_at, deadline, default_after, seen_ms, decided_at, outcome)
VALUES ('qdem00000000000000004', 7, 'qdem00000000000000004', 'demo', 'codex', '@shop', 'Allow: npm publish --access public', 'normal', 'pending', NULL, @now - 120000, @now + 86280000, NULL, 0, NULL, NULL)
;
INSERT INTO question_bodies VALUES ('qdem00000000000000004', '```sh
npm publish --access public
```

Folder: `@folder`

Reason: Release 2.4.0 of the price library. The tests passed on the commit that is published.', '{"fields":[{"name":"decision","label":"","description":"","required":true,"input":{"kind":"choice","options":[{"label":"Approve","value":"approve"},{"label":"Approve for this session","value":"session"},{"label":"Deny","value":"deny"}],"min":1,"max":1,"other":false}}],"default":null,"denials":["deny"]}')
;
INSERT INTO question_deliveries (question, asker, stream, request, session, asked_at, lease_until)
VALUES ('qdem00000000000000004', 'demo', '', '', '', @now - 120000, @now + 31536000000)
;
INSERT INTO question_events VALUES ('qdem00000000000000004', 1, @now - 120000, 'asked', '')
;
INSERT INTO questions (id, seq, fingerprint, asker, client, workspace, title, level, state, kind, asked_at, deadline, default_after, seen_ms, decided_at, outcome)
VALUES ('qdem00000000000000005', 6, 'qdem00000000000000005', 'demo', 'claude-code', '@shop', 'Charge shipping before or after the discount?', 'normal', 'pending', NULL, @now - 840000, @now + 85560000, NULL, 0, NULL, NULL)
;
INSERT INTO question_bodies VALUES ('qdem00000000000000005', '`cart.ts` subtracts the voucher first, the order mail adds shipping first. A basket of 49 EUR with a 10 % voucher differs by **0.49 EUR**.

--- a/src/cart.ts
+++ b/src/cart.ts
@@ -41,7 +41,7 @@ export function total(basket: Basket): Money {
   const items = sum(basket.items);
   const shipping = shippingFor(basket);
-  return items.minus(voucher(basket)).plus(shipping);
+  return items.plus(shipping).minus(voucher(basket));
 }
', '{"fields":[{"name":"answer","label":"","description":"","required":true,"input":{"kind":"choice","options":[{"label":"After the discount (recommended)","value":"after"},{"label":"Before the discount","value":"before"}],"min":1,"max":1,"other":true}}],"default":null}')
;
INSERT INTO question_deliveries (question, asker, stream, request, session, asked_at, lease_until)
VALUES ('qdem00000000000000005', 'demo', '', '', '', @now - 840000, @now + 31536000000)
;
INSERT INTO question_events VALUES ('qdem00000000000000005', 1, @now - 840000, 'asked', '')
;
INSERT INTO questions (id, seq, fingerprint, asker, client, workspace, title, level, state, kind, asked_at, deadline, default_after, seen_ms, decided_at, outcome)
VALUES ('qdem00000000000000006', 5, 'qdem00000000000000006', 'demo', 'claude-code', '@shop', 'Drop the table orders_2019 in production?', 'high', 'pending', NULL, @now - 3120000, @now + 40080000, NULL, 0, NULL, NULL)
;
INSERT INTO question_bodies VALUES ('qdem00000000000000006', 'The archive of 2019 is in cold storage since March. Dropping the table frees 61 GB and **cannot be undone**.

```sql
DROP TABLE orders_2019;
```', '{"fields":[{"name":"answer","label":"","description":"","required":true,"input":{"kind":"choice","options":[{"label":"Drop the table","value":"drop"},{"label":"Keep it","value":"keep"}],"min":1,"max":1,"other":false}}],"default":null}')
;
INSERT INTO question_deliveries (question, asker, stream, request, session, asked_at, lease_until)
VALUES ('qdem00000000000000006', 'demo', '', '', '', @now - 3120000, @now + 31536000000)
;
INSERT INTO question_events VALUES ('qdem00000000000000006', 1, @now - 3120000, 'asked', '')
;
INSERT INTO questions (id, seq, fingerprint, asker, client, workspace, title, level, state, kind, asked_at, deadline, default_after, seen_ms, decided_at, outcome)
VALUES ('qdem00000000000000007', 4, 'qdem00000000000000007', 'demo', 'gemini-cli', '@shop', 'What goes into the release notes of 2.4.0?', 'normal', 'pending', NULL, @now - 10800000, @now + 162000000, NULL, 0, NULL, NULL)
;
INSERT INTO question_bodies VALUES ('qdem00000000000000007', 'Three changes are merged since 2.3.1. Customers see the first two.', '{"fields":[{"name":"changes","label":"Which changes?","description":"","required":true,"input":{"kind":"choice","options":[{"label":"Vouchers in the basket","value":"Vouchers in the basket"},{"label":"Faster product search","value":"Faster product search"},{"label":"New logging format","value":"New logging format"}],"min":1,"max":3,"other":true}},{"name":"headline","label":"Headline","description":"","required":true,"input":{"kind":"text","multiline":false,"min":3,"max":80}},{"name":"announce","label":"Announce it by mail?","description":"","required":true,"input":{"kind":"yes_no"}}],"default":null}')
;
INSERT INTO question_deliveries (question, asker, stream, request, session, asked_at, lease_until)
VALUES ('qdem00000000000000007', 'demo', '', '', '', @now - 10800000, @now + 31536000000)
;
INSERT INTO question_events VALUES ('qdem00000000000000007', 1, @now - 10800000, 'asked', '')
;

-- Tasks: failed, without checks, verified, checks failed, cancelled
INSERT INTO tasks (id, seq, caller, agent, runner, workdir, priority, parent, root, depth, state, attempt, fence, hub, lease_until, failure, created_at, started_at, ended_at)
VALUES ('dem00000000000000001', 1, 'demo', 'translator', 'gemini', '@shop', 0, NULL, 'dem00000000000000001', 0, 'failed', 1, 1, NULL, NULL, 'usage_limit', @now - 93600000, @now - 93600000, @now - 93480000)
;
INSERT INTO task_inputs VALUES ('dem00000000000000001', 'Translate the checkout into French. Keep the placeholders as they are.', '{"label":"claude-code","persona":"","model":null,"runner":null,"permission":"workspace-write","timeout_ms":1800000,"keep":true,"env":{},"schema":null,"checks":[["npm","test"],["npm","run","lint"]],"worktree":true,"workdir":{"path":"@shop","device":0,"inode":0}}')
;
INSERT INTO task_events VALUES ('dem00000000000000001', 1, @now - 93600000, 'started', '{"kind":"started","runner":"gemini","attempt":1}')
;
INSERT INTO task_events VALUES ('dem00000000000000001', 2, @now - 93480000, 'notice', '{"kind":"notice","text":"usage limit reached, resets at 18:00"}')
;
INSERT INTO task_results VALUES ('dem00000000000000001', 'demo', '{"status":"failed","verdict":"unverified","failure":{"class":"usage_limit","detail":"the daily limit is used up; it resets at 18:00"},"run_report":{"attempts":[{"runner":"gemini","version":"0.11.2","model":"gemini-3-pro","started_at":' || (@now - 93600000) || ',"wall_ms":120000,"exit":1,"held_by":"landlock","network":"none"}],"permission":"workspace-write","wall_ms":120000,"cpu_ms":20166,"peak_rss_bytes":201748480,"processes_left":0,"usage":{"input_tokens":9120,"cached_tokens":4096,"output_tokens":640},"commands":[],"files":[],"checks":[]}}', @now - 93480000)
;
INSERT INTO tasks (id, seq, caller, agent, runner, workdir, priority, parent, root, depth, state, attempt, fence, hub, lease_until, failure, created_at, started_at, ended_at)
VALUES ('dem00000000000000002', 2, 'demo', 'reviewer', 'codex', '@shop', 0, NULL, 'dem00000000000000002', 0, 'succeeded', 1, 1, NULL, NULL, NULL, @now - 79200000, @now - 79200000, @now - 78960000)
;
INSERT INTO task_inputs VALUES ('dem00000000000000002', 'Review the voucher branch: correctness first, then naming.', '{"label":"claude-code","persona":"","model":null,"runner":null,"permission":"read-only","timeout_ms":1800000,"keep":true,"env":{},"schema":null,"checks":[],"worktree":false,"workdir":{"path":"@shop","device":0,"inode":0}}')
;
INSERT INTO task_events VALUES ('dem00000000000000002', 1, @now - 79200000, 'started', '{"kind":"started","runner":"codex","attempt":1}')
;
INSERT INTO task_events VALUES ('dem00000000000000002', 2, @now - 79140000, 'command_started', '{"kind":"command_started","command":"git diff main...voucher"}')
;
INSERT INTO task_events VALUES ('dem00000000000000002', 3, @now - 79140000, 'command_ended', '{"kind":"command_ended","command":"git diff main...voucher","exit":0}')
;
INSERT INTO task_events VALUES ('dem00000000000000002', 4, @now - 78960000, 'text', '{"kind":"text","text":"Two findings: voucher() divides by 100 twice, and Basket.voucher may be null."}')
;
INSERT INTO task_results VALUES ('dem00000000000000002', 'demo', '{"status":"succeeded","verdict":"unverified","message":"Two findings.\n\n1. **`voucher()` divides by 100 twice** when the percentage comes from the admin page (`src/admin.ts:88`).\n2. `Basket.voucher` may be `null`; `cart.ts:15` reads `.percent` of it.\n\nNaming is consistent with the rest of the module.","run_report":{"attempts":[{"runner":"codex","version":"0.169.0","model":"gpt-5.2-codex","started_at":' || (@now - 79200000) || ',"wall_ms":240000,"exit":0,"held_by":"landlock","network":"none"}],"permission":"read-only","wall_ms":240000,"cpu_ms":40666,"peak_rss_bytes":271646720,"processes_left":0,"usage":{"input_tokens":31480,"cached_tokens":22016,"output_tokens":1375},"commands":[{"command":"git diff main...voucher","exit":0},{"command":"rg -n voucher src","exit":0}],"files":[],"checks":[]}}', @now - 78960000)
;
INSERT INTO tasks (id, seq, caller, agent, runner, workdir, priority, parent, root, depth, state, attempt, fence, hub, lease_until, failure, created_at, started_at, ended_at)
VALUES ('dem00000000000000003', 3, 'demo', 'test-writer', 'codex', '@shop', 0, NULL, 'dem00000000000000003', 0, 'succeeded', 1, 1, NULL, NULL, NULL, @now - 11400000, @now - 11280000, @now - 10860000)
;
INSERT INTO task_inputs VALUES ('dem00000000000000003', 'Write a regression test for the rounding of vouchers, then make it pass.', '{"label":"claude-code","persona":"","model":null,"runner":null,"permission":"workspace-write","timeout_ms":1800000,"keep":true,"env":{},"schema":null,"checks":[["npm","test"],["npm","run","lint"]],"worktree":true,"workdir":{"path":"@shop","device":0,"inode":0}}')
;
INSERT INTO task_events VALUES ('dem00000000000000003', 1, @now - 11280000, 'started', '{"kind":"started","runner":"codex","attempt":1}')
;
INSERT INTO task_events VALUES ('dem00000000000000003', 2, @now - 11220000, 'thinking', '{"kind":"thinking","text":"The percentage is used as a factor. I write the test first."}')
;
INSERT INTO task_events VALUES ('dem00000000000000003', 3, @now - 11160000, 'command_started', '{"kind":"command_started","command":"npm test -- cart"}')
;
INSERT INTO task_events VALUES ('dem00000000000000003', 4, @now - 11160000, 'command_ended', '{"kind":"command_ended","command":"npm test -- cart","exit":1}')
;
INSERT INTO task_events VALUES ('dem00000000000000003', 5, @now - 11040000, 'files_changed', '{"kind":"files_changed","files":["src/cart.ts","src/cart.test.ts"]}')
;
INSERT INTO task_events VALUES ('dem00000000000000003', 6, @now - 10980000, 'command_started', '{"kind":"command_started","command":"npm test -- cart"}')
;
INSERT INTO task_events VALUES ('dem00000000000000003', 7, @now - 10980000, 'command_ended', '{"kind":"command_ended","command":"npm test -- cart","exit":0}')
;
INSERT INTO task_events VALUES ('dem00000000000000003', 8, @now - 10980000, 'text', '{"kind":"text","text":"The voucher was a factor instead of a percentage. The new test fails without the change."}')
;
INSERT INTO task_events VALUES ('dem00000000000000003', 9, @now - 10920000, 'check_started', '{"kind":"check_started","command":"npm test"}')
;
INSERT INTO task_events VALUES ('dem00000000000000003', 10, @now - 10920000, 'check_ended', '{"kind":"check_ended","command":"npm test","passed":true}')
;
INSERT INTO task_events VALUES ('dem00000000000000003', 11, @now - 10860000, 'check_started', '{"kind":"check_started","command":"npm run lint"}')
;
INSERT INTO task_events VALUES ('dem00000000000000003', 12, @now - 10860000, 'check_ended', '{"kind":"check_ended","command":"npm run lint","passed":true}')
;
INSERT INTO task_results VALUES ('dem00000000000000003', 'demo', '{"status":"succeeded","verdict":"verified","message":"The voucher was used as a factor instead of a percentage, so a voucher of 10 % took ten times the basket.\n\n- `src/cart.ts` divides by 100 and rounds to cents\n- `src/cart.test.ts` has a test that fails without the change\n- free shipping is decided **before** the voucher, as the terms say","run_report":{"attempts":[{"runner":"codex","version":"0.169.0","model":"gpt-5.2-codex","started_at":' || (@now - 11280000) || ',"wall_ms":420000,"exit":0,"held_by":"landlock","network":"none"}],"permission":"workspace-write","wall_ms":420000,"cpu_ms":68666,"peak_rss_bytes":431669248,"processes_left":0,"usage":{"input_tokens":54306,"cached_tokens":41472,"output_tokens":3982},"commands":[{"command":"npm test -- cart","exit":1},{"command":"npm test -- cart","exit":0}],"files":[],"checks":[{"command":["npm","test"],"passed":true,"exit":0,"wall_ms":8400,"processes_left":0,"output_tail":"Test Files  14 passed (14)\nTests  96 passed (96)"},{"command":["npm","run","lint"],"passed":true,"exit":0,"wall_ms":2900,"processes_left":0,"output_tail":""}],"repository":{"head_before":"8d1f0c2a41b7","head_after":"8d1f0c2a41b7","isolation":"worktree","files":[{"path":"src/cart.ts","insertions":4,"deletions":1},{"path":"src/cart.test.ts","insertions":5,"deletions":0}],"insertions":9,"deletions":1,"more_files":0,"patch":"diff --git a/src/cart.ts b/src/cart.ts\nindex 3f1c2aa..9b0e1d4 100644\n--- a/src/cart.ts\n+++ b/src/cart.ts\n@@ -12,9 +12,12 @@ import { Money } from \"./money\";\n export function total(basket: Basket): Money {\n   const items = sum(basket.items);\n   const shipping = shippingFor(basket);\n-  const voucher = items.times(basket.voucher?.percent ?? 0);\n+  const voucher = items.times((basket.voucher?.percent ?? 0) / 100).round();\n   return items.minus(voucher).plus(shipping);\n }\n+\n+/** Shipping is free from 50 EUR on, before any voucher. */\n+const FREE_SHIPPING = Money.eur(50);\n \n function shippingFor(basket: Basket): Money {\n   return sum(basket.items).atLeast(FREE_SHIPPING) ? Money.zero() : basket.shipping;\ndiff --git a/src/cart.test.ts b/src/cart.test.ts\nindex 77aa012..c4d9e3f 100644\n--- a/src/cart.test.ts\n+++ b/src/cart.test.ts\n@@ -3,4 +3,9 @@ import { expect, test } from \"vitest\";\n \n test(\"an empty basket costs nothing\", () => {\n   expect(total({ items: [] })).toEqual(Money.zero());\n });\n+\n+test(\"a voucher of ten percent takes a tenth\", () => {\n+  const basket = { items: [item(49)], voucher: { percent: 10 } };\n+  expect(total(basket)).toEqual(Money.eur(44.1));\n+});\n"}}}', @now - 10860000)
;
INSERT INTO tasks (id, seq, caller, agent, runner, workdir, priority, parent, root, depth, state, attempt, fence, hub, lease_until, failure, created_at, started_at, ended_at)
VALUES ('dem00000000000000004', 4, 'demo', 'test-writer', 'claude', '@shop', 0, NULL, 'dem00000000000000004', 0, 'succeeded', 1, 1, NULL, NULL, NULL, @now - 5700000, @now - 5700000, @now - 4680000)
;
INSERT INTO task_inputs VALUES ('dem00000000000000004', 'Make the product search case-insensitive and measure it with 10,000 products.', '{"label":"claude-code","persona":"","model":null,"runner":null,"permission":"workspace-write","timeout_ms":1800000,"keep":true,"env":{},"schema":null,"checks":[["npm","test"],["npm","run","lint"]],"worktree":true,"workdir":{"path":"@shop","device":0,"inode":0}}')
;
INSERT INTO task_events VALUES ('dem00000000000000004', 1, @now - 5700000, 'started', '{"kind":"started","runner":"claude","attempt":1}')
;
INSERT INTO task_events VALUES ('dem00000000000000004', 2, @now - 4800000, 'check_started', '{"kind":"check_started","command":"npm test"}')
;
INSERT INTO task_events VALUES ('dem00000000000000004', 3, @now - 4740000, 'check_ended', '{"kind":"check_ended","command":"npm test","passed":false}')
;
INSERT INTO task_events VALUES ('dem00000000000000004', 4, @now - 4740000, 'check_started', '{"kind":"check_started","command":"npm run lint"}')
;
INSERT INTO task_events VALUES ('dem00000000000000004', 5, @now - 4680000, 'check_ended', '{"kind":"check_ended","command":"npm run lint","passed":true}')
;
INSERT INTO task_results VALUES ('dem00000000000000004', 'demo', '{"status":"succeeded","verdict":"refuted","message":"The search lowers both sides and uses an index on the lowered name.\n\n| products | before | after |\n|---|---|---|\n| 1,000 | 12 ms | 3 ms |\n| 10,000 | 118 ms | 5 ms |","run_report":{"attempts":[{"runner":"claude","version":"2.1.4","model":"claude-opus-4.5","started_at":' || (@now - 5700000) || ',"wall_ms":1020000,"exit":0,"held_by":"landlock","network":"none"}],"permission":"workspace-write","wall_ms":1020000,"cpu_ms":170000,"peak_rss_bytes":689438720,"processes_left":0,"usage":{"input_tokens":88412,"cached_tokens":71000,"output_tokens":6120},"commands":[{"command":"npm test -- search","exit":0},{"command":"node bench/search.js","exit":0}],"files":[],"checks":[{"command":["npm","test"],"passed":false,"exit":1,"wall_ms":9100,"processes_left":0,"output_tail":" FAIL  src/search.test.ts > finds STRASSE for straße\nAssertionError: expected [] to have a length of 1 but got +0\n\nTests  1 failed | 95 passed (96)"},{"command":["npm","run","lint"],"passed":true,"exit":0,"wall_ms":2800,"processes_left":0,"output_tail":""}],"repository":{"head_before":"8d1f0c2a41b7","head_after":"8d1f0c2a41b7","isolation":"worktree","files":[{"path":"src/search.ts","insertions":15,"deletions":7},{"path":"migrations/0042_lower_name.sql","insertions":3,"deletions":0}],"insertions":18,"deletions":7,"more_files":0,"patch":"diff --git a/src/search.ts b/src/search.ts\nindex 4633c95..8788f0a 100644\n--- a/src/search.ts\n+++ b/src/search.ts\n@@ -3,13 +3,21 @@ import { Product } from \"./product\";\n \n const MAX_RESULTS = 50;\n \n-/** Returns the products with all words of the query in their names. */\n+/** Returns the products with all words of the query in their names, in any case. */\n export async function search(db: Database, query: string): Promise<Product[]> {\n-  const found: Product[] = [];\n-  for (const product of await db.all<Product>(\"SELECT * FROM products\")) {\n-    if (query.split(\" \").every((word) => product.name.includes(word))) {\n-      found.push(product);\n-    }\n+  const words = query.toLowerCase().split(/\\s+/).filter(Boolean);\n+  if (words.length === 0) {\n+    return [];\n   }\n-  return found.slice(0, MAX_RESULTS);\n+  const conditions = words.map((_, n) => `lower(name) LIKE $${n + 1}`);\n+  return db.all<Product>(\n+    `SELECT * FROM products WHERE ${conditions.join(\" AND \")}\n+      ORDER BY name LIMIT ${MAX_RESULTS}`,\n+    words.map((word) => `%${escapeLike(word)}%`),\n+  );\n+}\n+\n+/** A word may contain the two characters with a meaning in LIKE. */\n+function escapeLike(word: string): string {\n+  return word.replace(/[\\\\%_]/g, \"\\\\$&\");\n }\ndiff --git a/migrations/0042_lower_name.sql b/migrations/0042_lower_name.sql\nnew file mode 100644\nindex 0000000..6347ca3\n--- /dev/null\n+++ b/migrations/0042_lower_name.sql\n@@ -0,0 +1,3 @@\n+-- The product search finds words in lower case, anywhere in a name.\n+CREATE EXTENSION IF NOT EXISTS pg_trgm;\n+CREATE INDEX products_lower_name ON products USING gin (lower(name) gin_trgm_ops);\n"}}}', @now - 4680000)
;
INSERT INTO tasks (id, seq, caller, agent, runner, workdir, priority, parent, root, depth, state, attempt, fence, hub, lease_until, failure, created_at, started_at, ended_at)
VALUES ('dem00000000000000005', 5, 'demo', 'reviewer', 'codex', '@shop', 0, NULL, 'dem00000000000000005', 0, 'cancelled', 1, 1, NULL, NULL, NULL, @now - 4200000, @now - 4200000, @now - 4158000)
;
INSERT INTO task_inputs VALUES ('dem00000000000000005', 'Check all links in docs/.', '{"label":"robin","persona":"","model":null,"runner":null,"permission":"read-only","timeout_ms":1800000,"keep":true,"env":{},"schema":null,"checks":[],"worktree":false,"workdir":{"path":"@shop","device":0,"inode":0}}')
;
INSERT INTO task_events VALUES ('dem00000000000000005', 1, @now - 4200000, 'started', '{"kind":"started","runner":"codex","attempt":1}')
;
INSERT INTO task_events VALUES ('dem00000000000000005', 2, @now - 4158000, 'hub_notice', '{"kind":"hub_notice","text":"the task was cancelled"}')
;
INSERT INTO task_results VALUES ('dem00000000000000005', 'demo', '{"status":"cancelled","verdict":"unverified","run_report":{"attempts":[{"runner":"codex","version":"0.169.0","model":"gpt-5.2-codex","started_at":' || (@now - 4200000) || ',"wall_ms":42000,"held_by":"landlock","network":"none"}],"permission":"read-only","wall_ms":42000,"cpu_ms":7000,"peak_rss_bytes":127401984,"processes_left":0,"usage":{"input_tokens":6204,"cached_tokens":5120,"output_tokens":88},"commands":[],"files":[],"checks":[]}}', @now - 4158000)
;

-- A Codex session of two turns
INSERT INTO codex_threads (id, backend, version, cwd, model, title, settings, tokens, created_at, updated_at, context, context_window)
VALUES ('0199dem0-7a41-7c52-9b0e-c0de5e551011', 'app-server', '0.169.0', '@shop', 'gpt-5.2-codex', 'Publish the price library as its own package', '{}', 48211, @now - 9000000, @now - 2040000, 48211, 272000)
;
INSERT INTO codex_turns (thread, turn, ended, started_at, ended_at) VALUES ('0199dem0-7a41-7c52-9b0e-c0de5e551011', 't1', 'completed', @now - 9000000, @now - 7860000)
;
INSERT INTO codex_turns (thread, turn, ended, started_at, ended_at) VALUES ('0199dem0-7a41-7c52-9b0e-c0de5e551011', 't2', 'completed', @now - 2400000, @now - 2040000)
;
INSERT INTO codex_items VALUES ('0199dem0-7a41-7c52-9b0e-c0de5e551011', 1, 'i1', 't1', 'user', 'Publish the price library as its own package. Keep the history of its files.', '{"id":"i1","turn":"t1","state":"done","kind":"user","text":"Publish the price library as its own package. Keep the history of its files."}', @now - 9000000)
;
INSERT INTO codex_items VALUES ('0199dem0-7a41-7c52-9b0e-c0de5e551011', 2, 'i2', 't1', 'reasoning', 'The library is `src/money`. I look for what imports it.', '{"id":"i2","turn":"t1","state":"done","kind":"reasoning","text":"The library is `src/money`. I look for what imports it."}', @now - 8940000)
;
INSERT INTO codex_items VALUES ('0199dem0-7a41-7c52-9b0e-c0de5e551011', 3, 'i3', 't1', 'command', 'rg -l money', '{"id":"i3","turn":"t1","state":"done","kind":"command","command":"rg -l ''from \"./money\"'' src","cwd":"@shop","output":"src/cart.ts\nsrc/admin.ts\nsrc/invoice.ts\n","exit_code":0}', @now - 8880000)
;
INSERT INTO codex_items VALUES ('0199dem0-7a41-7c52-9b0e-c0de5e551011', 4, 'i4', 't1', 'command', 'git subtree split', '{"id":"i4","turn":"t1","state":"done","kind":"command","command":"git subtree split --prefix=src/money -b money-only","cwd":"@shop","output":"1/14 (0) [0]\n14/14 (13) [0]\n5c1b07e2d0\n","exit_code":0}', @now - 8640000)
;
INSERT INTO codex_items VALUES ('0199dem0-7a41-7c52-9b0e-c0de5e551011', 5, 'i5', 't1', 'patch', 'package.json', '{"id":"i5","turn":"t1","state":"done","kind":"patch","changes":[{"path":"packages/money/package.json","how":"add","diff":"{\n  \"name\": \"@corner-shop/money\",\n  \"version\": \"2.4.0\"\n}\n"},{"path":"src/cart.ts","how":"update","diff":"@@ -1,4 +1,4 @@\n import { Basket } from \"./basket\";\n-import { Money } from \"./money\";\n+import { Money } from \"@corner-shop/money\";\n import { sum } from \"./sum\";\n"}]}', @now - 8340000)
;
INSERT INTO codex_items VALUES ('0199dem0-7a41-7c52-9b0e-c0de5e551011', 6, 'i6', 't1', 'command', 'npm test', '{"id":"i6","turn":"t1","state":"failed","kind":"command","command":"npm test","cwd":"@shop","output":" FAIL  src/invoice.test.ts\nError: Cannot find module ''./money''\n","exit_code":1}', @now - 8100000)
;
INSERT INTO codex_items VALUES ('0199dem0-7a41-7c52-9b0e-c0de5e551011', 7, 'i7', 't1', 'agent', 'The package is split with its 14 commits. One import is left in `src/invoice.ts`, so a test fails.

Shall I change it too?', '{"id":"i7","turn":"t1","state":"done","kind":"agent","text":"The package is split with its 14 commits. One import is left in `src/invoice.ts`, so a test fails.\n\nShall I change it too?"}', @now - 7860000)
;
INSERT INTO codex_items VALUES ('0199dem0-7a41-7c52-9b0e-c0de5e551011', 8, 'i8', 't2', 'user', 'Yes, and run the tests again.', '{"id":"i8","turn":"t2","state":"done","kind":"user","text":"Yes, and run the tests again."}', @now - 2400000)
;
INSERT INTO codex_items VALUES ('0199dem0-7a41-7c52-9b0e-c0de5e551011', 9, 'i9', 't2', 'patch', 'src/invoice.ts', '{"id":"i9","turn":"t2","state":"done","kind":"patch","changes":[{"path":"src/invoice.ts","how":"update","diff":"@@ -1,3 +1,3 @@\n-import { Money } from \"./money\";\n+import { Money } from \"@corner-shop/money\";\n import { Order } from \"./order\";\n"}]}', @now - 2280000)
;
INSERT INTO codex_items VALUES ('0199dem0-7a41-7c52-9b0e-c0de5e551011', 10, 'i10', 't2', 'command', 'npm test', '{"id":"i10","turn":"t2","state":"done","kind":"command","command":"npm test","cwd":"@shop","output":"Test Files  14 passed (14)\nTests  96 passed (96)\n","exit_code":0}', @now - 2100000)
;
INSERT INTO codex_items VALUES ('0199dem0-7a41-7c52-9b0e-c0de5e551011', 11, 'i11', 't2', 'agent', 'All 96 tests pass.', '{"id":"i11","turn":"t2","state":"done","kind":"agent","text":"All 96 tests pass."}', @now - 2040000)
;
