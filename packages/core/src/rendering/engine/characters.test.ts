import { expect, test } from 'vitest'
import { compileTemplates, joinMail } from '../compile-templates.ts'

const values = {
  contact: { firstName: '🦉Zoë👩‍💻', tags: ['🦉', 'vip'] },
  campaign: {},
  list: { name: 'News' },
  workspace: {},
  locale: 'en',
  unsubscribeUrl: 'https://crm.example.com/u',
  preferencesUrl: 'https://crm.example.com/p',
}
/** Renders a template as subject, as text, and as HTML with its text. */
function renderEverywhere(source: string): string[] {
  const [start, end] = ['<p>[', ']</p>{{ unsubscribeUrl }}']
  const render = (sources: { html: string | null; text: string | null }) =>
    joinMail(compileTemplates({ subject: `[${source}]`, ...sources })(values))
  const { subject, text } = render({ html: null, text: `[${source}]` })
  const mail = render({ html: start + source + end, text: null })
  const captured = render({ html: `{% capture x %}${source}{% endcapture %}${start}{{ x | raw }}${end}`, text: null })
  return [subject, text, mail.html, mail.text, captured.html, captured.text].map(
    (part = '') => /\[(.*?)\]/s.exec(part)?.[1] ?? part,
  )
}

test.each([
  ['{{ contact.firstName | size }}', '7'],
  ['{{ contact.firstName.size }} {{ contact.firstName.length }}', '7 7'],
  ['{{ contact.tags.first.size }}', '1'],
  ['{{ contact.tags | where_exp: "tag", "tag.size == 1" | join }}', '🦉'],
  ['{{ contact.firstName | slice: 0 }}', '🦉'],
  ['{{ contact.firstName | slice: 1, 3 }}', 'Zoë'],
  ['{{ contact.firstName | slice: -1 }}', '💻'],
  ['{{ contact.firstName[0] }}{{ contact.firstName[4] }}', '🦉👩'],
  ['{{ contact.firstName | first }}', '🦉'],
  ['{{ contact.firstName | last }}', '💻'],
  ['{{ contact.firstName | truncate: 2, "…" }}', '🦉…'],
  ['{{ contact.firstName | truncate: 7, "…" }}', '🦉Zoë👩‍💻'],
  ['{{ contact.firstName | split: "" | join: "-" }}', '🦉-Z-o-ë-👩-\u200d-💻'],
  ['{{ contact.firstName | replace: "", "." }}', '🦉.Z.o.ë.👩.\u200d.💻'],
  ['{{ contact.firstName | split: "Z" | first }}', '🦉'],
  ['{{ 1234 | slice: 0, 2 }} {{ 1234 | size }} {{ contact.tags | size }} {{ contact.tags | last }}', '12 0 2 vip'],
])('%s counts and cuts characters', (source, output) => {
  expect(renderEverywhere(source)).toEqual(Array(6).fill(output))
})

test.each([
  String.raw`{{ "\ud83e" }}`,
  String.raw`{{ contact.firstName | remove: "\udd89" | slice: 0 }}`,
  String.raw`{{ contact.firstName | replace_first: "\ud83e", "" | slice: 0 }}`,
  String.raw`{% assign x = "\udd89" %}{{ x | append: "" }}`,
])('%s renders a replacement character instead of half an emoji', (source) => {
  expect(renderEverywhere(source)).toEqual(Array(6).fill('\ufffd'))
})
