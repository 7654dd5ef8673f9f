// Prints how many tokens of o200k_base the text of a file is.
//
//     count_tokens.mjs PACKAGES FILE
//
// PACKAGES is the folder that holds node_modules.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const [packages, file] = process.argv.slice(2);
const { countTokens } = createRequire(`${packages}/package.json`)("gpt-tokenizer/encoding/o200k_base");
console.log(countTokens(readFileSync(file, "utf8")));
