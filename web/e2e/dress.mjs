/**
 * Gives the pages of a directory (made.json) the page as it is built now, with the data they have: a
 * change of `web/src` is seen without running the experiments again. `node dress.mjs DIRECTORY [REPORT]`
 */

import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const [directory, template = new URL('../dist/report.html', import.meta.url).pathname] = process.argv.slice(2);
const page = readFileSync(resolve(template), 'utf8');
const mark = 'id="data">';
const [before, rest] = [page.slice(0, page.indexOf(mark) + mark.length), page.slice(page.indexOf('</script>', page.indexOf(mark)))];
for (const { file } of Object.values(JSON.parse(readFileSync(join(resolve(directory), 'made.json'), 'utf8')).pages)) {
  const data = readFileSync(file, 'utf8').split(mark)[1].split('</script>')[0];
  writeFileSync(file, before + data + rest);
}
