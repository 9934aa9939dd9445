import { expect, test } from 'vitest'
import type { CampaignValues } from './template-sources.ts'
import { compileTemplates, joinMail } from './compile-templates.ts'

const values: CampaignValues = {
  contact: { firstName: 'Ada', email: 'ada@example.com' },
  campaign: { id: 'cmp_1', name: 'November' },
  list: { id: 'lst_1', name: 'Monthly news' },
  workspace: { name: 'Engines', postalAddress: '12 Dorset Street' },
  locale: 'en',
  unsubscribeUrl: 'https://crm.example.com/public/unsubscribe?token=abc.def',
  preferencesUrl: 'https://crm.example.com/public/preferences?token=ghi.jkl',
}
/** The text part that HTML is converted to, without the link at its end. */
function textOf(html: string): string {
  const render = compileTemplates({ subject: 'News', html: `${html}<p>{{ unsubscribeUrl }}</p>`, text: null })
  return joinMail(render(values)).text.replace(String(values.unsubscribeUrl), '').trim()
}

test('the padding of a preview text is left out, and letters stay joined', () => {
  const preview = (padding: string) => `<div style="display:none">Preview ${padding.repeat(60)}</div><p>Hello</p>`
  const known = ['&#847;&zwnj;&nbsp;', '&zwnj;&nbsp;', '&#8203;', '&shy; ', '&#8199;&#65279;', '&ZeroWidthSpace;']
  // Braille and Hangul fillers, spaces alone, a variation selector, and those of the editors of Mailchimp and Litmus.
  const others = [
    '&#10240;',
    '&#12644;',
    '&nbsp;',
    '&#8202;&#8203;',
    '\ufe0f',
    '&#x200B;&#x2060;',
    '&zwnj; &#8199; &shy;',
  ]
  for (const padding of [...known, ...others]) expect(textOf(preview(padding))).toMatch(/^Preview\s+Hello$/)
  expect(textOf('<p>❤\ufe0f❤\ufe0f❤\ufe0f a&nbsp;&nbsp;b</p>')).toBe('❤\ufe0f❤\ufe0f❤\ufe0f a\u00a0\u00a0b')
  const joined = 'می\u200cخواهم 👨\u200d👩\u200d👧'
  expect(textOf(`<p>${joined}</p>`)).toBe(joined)
})

test.each([
  [`Tea${'&nbsp;'.repeat(10)}2.90`, 'Tea 2.90'],
  [`Tea ${'&ensp;'.repeat(30)} 2.90`, 'Tea 2.90'],
  [`Tea${'&nbsp; '.repeat(12)}2.90`, 'Tea 2.90'],
  [`Tea ${'&zwnj;&nbsp;'.repeat(5)}2.90`, 'Tea 2.90'],
  [`Tea ${'&#8203;'.repeat(5)}2.90`, 'Tea 2.90'],
  [`Tea${'&#8288;'.repeat(5)}pot`, 'Teapot'],
  [`Tea${'&#65279;'.repeat(5)}pot`, 'Teapot'],
  [`Tea${'&nbsp;'.repeat(20)}<br>2.90`, 'Tea\n2.90'],
  [`<p>${'&nbsp;'.repeat(20)}Tea</p>`, 'Tea'],
])('padding between words is one space: %s', (html, text) => expect(textOf(html)).toBe(text))

test.each([
  ['Hi <img src="https://example.com/spacer.gif">Ada', 'Hi Ada'],
  ['Hi <img alt="" src="data:image/png;base64,iVBORw0KGgo=">', 'Hi'],
  ['<img alt="Our  logo" src="https://example.com/logo.png"> Hi', 'Our logo Hi'],
  ['<IMG SRC=cid:logo ALT="{{ contact.firstName }} & co">', 'Ada & co'],
  ['<a href="https://example.com/"><img src="a.png" alt="Shop"></a>', 'Shop [https://example.com/]'],
])('the text of an image is its alt, or nothing: %s', (html, text) => expect(textOf(html)).toBe(text))

const tables: [html: string, text: string][] = [
  ['<table><tr><th>Item</th><th>Price</th></tr><tr><td>Tea</td><td>2.90</td></tr></table>', 'Item Price\nTea 2.90'],
  [
    '<table><thead><tr><th>Item<th>Price</thead><tbody><tr><td>Tea<td>2.90</tbody><tfoot><tr><td>Sum<td>2.90</table>',
    'Item Price\nTea 2.90\nSum 2.90',
  ],
  ['<table>\n <tr>\n <td> a </td>\n <td><b>b</b></td>\n </tr>\n</table>', 'a b'],
  ['<table><tr><td><table><tr><td>a</td><td>b</td></tr></table></td></tr><tr><td>c</td></tr></table>', 'a b\n\nc'],
  ['<table><tr><td>{{ contact.firstName }}</td><td>{{ contact.email }}</td></tr></table>', 'Ada ada@example.com'],
]
test.each(tables)('a table has a line per row, and a space between cells: %s', (html, text) => {
  expect(textOf(html)).toBe(text)
})
