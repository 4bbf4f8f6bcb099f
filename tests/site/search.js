// What the site's own search finds: node search.js SITE QUERY ...; a line of pages for each query, best first.
const fs = require("fs"), path = require("path"), vm = require("vm");
const [site, ...queries] = process.argv.slice(2);
const nothing = () => null;
const page = { addEventListener: nothing, documentElement: { dataset: {} }, getElementById: nothing, querySelector: nothing };
const context = vm.createContext({ document: page, console: { info: nothing }, DOCUMENTATION_OPTIONS: {}, SPHINX_HIGHLIGHT_ENABLED: false, _: (text) => text, _ready: nothing, queries });
context.window = context;
for (const script of ["_static/language_data.js", "_static/searchtools.js", "searchindex.js"])
  vm.runInContext(fs.readFileSync(path.join(site, script), "utf8"), context);
const found = vm.runInContext("queries.map((query) => Search._performSearch(...Search._parseQuery(query)).reverse().map((result) => result[0]))", context);
for (const pages of found) console.log([...new Set(pages)].join(" "));
