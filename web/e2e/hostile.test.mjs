/** Stored text that would run as a script stays text. */

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { documentOf, made, opened, seeAll } from './open.mjs';

/** Elements that only stored text could have brought in. */
const foreign = (page) => page.evaluate(() => document.querySelectorAll('img, iframe, object, embed, [onerror], [onload], script:not([type="application/json"]):not([type="module"])').length);

test('hostile names, statements, errors, notes and settings of a real trial appear as text', async () => {
  await opened('hostile', async (page) => {
    await seeAll(page);
    assert.equal(await foreign(page), 0);
    const text = await page.locator('body').innerText();
    const times = text.split(made.hostile).length - 1;
    assert.ok(times >= 3, `the note, the reason, the statements: ${times} times`);
    const name = '<img src=x onerror="hacked=1">';
    assert.ok(text.includes(`${name}.sql`), 'the script’s name');
    assert.match(await page.locator('#settings').innerText(), /cluster_name/);
  });
});

test('the name of an experiment appears as text', async () => {
  await opened('experiment', async (page) => {
    await seeAll(page);
    assert.equal(await foreign(page), 0);
    assert.ok((await page.locator('main').innerText()).includes(made.hostile));
  });
});

/** Every string of the document made hostile, names of fields too where they are data. */
function poisoned(value, key = '') {
  if (typeof value === 'string') return ['kind', 'format'].includes(key) ? value : `${value} ${made.hostile}`;
  if (Array.isArray(value)) return value.map((one) => poisoned(one, key));
  if (value !== null && typeof value === 'object') return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, poisoned(one, name)]));
  return value;
}

for (const name of ['trial', 'experiment', 'compare']) {
  test(`hostile text in every string of a report does nothing: ${name}`, async () => {
    const html = readFileSync(made.pages[name].file, 'utf8');
    const [before, rest] = html.split('id="data">');
    const data = JSON.stringify(poisoned(documentOf(name))).replace(/</g, '\\u003c');
    const file = join(dirname(made.pages[name].file), `poisoned-${name}.html`);
    writeFileSync(file, `${before}id="data">${data}${rest.slice(rest.indexOf('</script>'))}`);
    await opened(file, async (page) => {
      await seeAll(page);
      assert.equal(await foreign(page), 0);
      assert.ok((await page.locator('h1').innerText()).includes(made.hostile));
    });
  });
}
