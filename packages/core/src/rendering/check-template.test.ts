import { describe, expect, test } from 'vitest'
import { findFaults } from './check-template.ts'

const customFieldKeys = ['plan', 'seats', 'constructor', 'email', 'size']
const check = (html: string) => findFaults({ html }, { customFieldKeys }).map(({ message }) => message)

describe('an unknown name', () => {
  test.each([
    ['<p>\n\n  {{  contact.frstName }}', 'variable "contact.frstName" at line 3, column 7', 'contact.firstName'],
    ['{{ contact.customFieldValues.plam }}', 'variable "contact.customFieldValues.plam" at line 1, column 4', 'plan'],
    ['{{ contact.plam }}', 'variable "contact.plam" at line 1, column 4', 'contact.plan'],
    ['{{ contact["first_name"] }}', 'variable "contact.first_name" at line 1, column 4', 'contact.firstName'],
    [
      '{{ contact.firstName\u200b }}',
      'variable "contact["firstName\\u200b"]" at line 1, column 4',
      'contact.firstName',
    ],
    ['{{ first_name }}', 'variable "first_name" at line 1, column 4', 'contact.firstName'],
    ['{{ unsubscribe_url }}', 'variable "unsubscribe_url" at line 1, column 4', 'unsubscribeUrl'],
    ['{% if contcat.firstName == "Ada" %}{% endif %}', 'variable "contcat.firstName" at line 1, column 7', 'contact'],
    ['{% liquid\n  echo list.nmae\n%}', 'variable "list.nmae" at line 2, column 8', 'list.name'],
    ['{{ contact.email | upcasse }}', 'filter "upcasse" at line 1, column 20', 'upcase'],
    ['{{ contact.email | upper }}', 'filter "upper" at line 1, column 20', 'upcase'],
    ['{{ contact.email | lowercase }}', 'filter "lowercase" at line 1, column 20', 'downcase'],
    ['{{ "|upcasse" | size | upcasse: 1 }}', 'filter "upcasse" at line 1, column 24', 'upcase'],
    ['{% if true %}{% elsif list.id | frist %}{% endif %}', 'filter "frist" at line 1, column 33', 'first'],
    ['{% cycle list.id, list.nam %}', 'variable "list.nam" at line 1, column 19', 'list.name'],
  ])('is reported with line, column and a suggestion: %s', (html, fault, meant) => {
    const [message, ...others] = check(html)
    expect(message).toMatch(`unknown ${fault} (did you mean "`)
    expect(message?.split('did you mean')[1]).toContain(meant)
    expect(others).toEqual([])
  })

  test.each([
    ['{{ contact.firstName.first }}', 'contact.firstName.first'],
    ['{{ contact.tags.name }}', 'contact.tags.name'],
    ['{{ contact.tags[0].name }}', 'contact.tags[0].name'],
    ['{{ contact[1] }}', 'contact[1]'],
    ['{{ contact["customFieldValues.plan"] }}', 'contact["customFieldValues.plan"]'],
    ['{{ contact["a\\"b<i>"] }}', 'contact["a\\"b<i>"]'],
    ['{{ contact.__proto__ }}', 'contact.__proto__'],
    ['{{ contact.toString }}', 'contact.toString'],
    ['{{ contact.customFieldValues.hasOwnProperty }}', 'contact.customFieldValues.hasOwnProperty'],
    ['{{ __proto__.constructor }}', '__proto__.constructor'],
    ['{{ constructor }}', 'constructor'],
    ['{{ globalThis.env[contact.firstName] }}', 'globalThis.env[…]'],
    [`{{ ${'y'.repeat(500)} }}`, `${'y'.repeat(100)}…`],
    ['{{ (1..contact.x) | join }}', 'contact.x'],
    ['{{ "text" | append: contact.x }}', 'contact.x'],
    ['{{ "text" | default: "x", allow_false: contact.x }}', 'contact.x'],
    ['{% for tag in contact.labels limit: 1 %}{% endfor %}', 'contact.labels'],
    ['{% for tag in contact.tags %}{% endfor %}{{ tag }}', 'tag'],
    ['{% case contact.x %}{% when "a" %}{% endcase %}', 'contact.x'],
    ['{% case "a" %}{% when contact.x %}{% endcase %}', 'contact.x'],
    ['{% unless contact.x %}{% endunless %}', 'contact.x'],
    ['{% assign a = contact.x %}', 'contact.x'],
    ['{% capture a %}{{ contact.x }}{% endcapture %}', 'contact.x'],
    ['{% tablerow t in contact.x %}{% endtablerow %}', 'contact.x'],
    ['{{ contact[contact.x] }}', 'contact.x'],
  ])('is reported wherever it is, as it is written: %s', (html, name) => {
    const [message, ...others] = check(html)
    expect(message?.startsWith(`unknown variable "${name}" at line 1, column `)).toBe(true)
    expect(others).toEqual([])
  })

  test('in several templates is reported for each, at most 20 together', () => {
    const sources = { subject: '{{ a }}{{ b | c }}', html: '{{ d }}', text: '{{ campaign.subject }}{% if %}' }
    expect(findFaults(sources, { customFieldKeys: [] })).toMatchObject([
      { field: 'subject', message: 'unknown variable "a" at line 1, column 4' },
      { field: 'subject', message: 'unknown variable "b" at line 1, column 11' },
      { field: 'subject', message: expect.stringContaining('unknown filter "c" at line 1, column 15') },
      { field: 'html', message: 'unknown variable "d" at line 1, column 4' },
      { field: 'text', message: expect.stringContaining('at line 1, column ') },
    ])
    expect(check('{{ a }}'.repeat(4_000))).toHaveLength(20)
  })

  test('is the rendered subject in the subject itself', () => {
    expect(findFaults({ subject: '{{ campaign.subject }}' }, { customFieldKeys: [] })).toHaveLength(1)
    expect(
      findFaults({ html: '{{ campaign.subject }}', text: '{{ campaign.subject }}' }, { customFieldKeys: [] }),
    ).toEqual([])
  })
})

describe('a known name', () => {
  test.each([
    '{{ contact.id }}{{ contact.email }}{{ contact.tags | join: ", " }}{{ contact.customFieldValues.seats | plus: 1 }}',
    '{{ contact.plan }}{{ contact.constructor }}{{ contact.customFieldValues.email }}{{ contact["plan"] }}',
    '{{ contact.tags.size }}{{ contact.tags.first }}{{ contact.tags[0] }}{{ contact.tags[-1].size }}{{ contact.email.size }}',
    '{{ contact.customFieldValues.size }}{{ contact.size }}',
    '{{ contact[key] }}{% assign key = "plan" %}{{ contact[key].whatever }}{{ [key] }}',
    '{% for tag in contact.tags %}{{ forloop.index }}{{ tag }}{% else %}{{ list.name }}{% endfor %}',
    '{% for pair in contact.customFieldValues %}{{ pair[0] }}: {{ pair[1] }}{% endfor %}',
    '{% tablerow tag in contact.tags cols: 2 %}{{ tablerowloop.col }}{{ tag }}{% endtablerow %}',
    '{% for tag in contact.tags %}{% if seen %}, {% endif %}{{ tag }}{% assign seen = true %}{% endfor %}',
    '{% capture name %}{{ contact.firstName }}{% endcapture %}{% capture "my-name" %}{% endcapture %}{{ name.size }}',
    '{% increment n %}{{ n }}{% decrement m %}{{ m }}{% cycle "a", "b" %}',
    '{% if contact.firstName == blank or contact.phone == nil or true %}{% endif %}{{ "text".size }}{{ (1..3).size }}',
    '{% raw %}{{ contact.x }}{% endraw %}{% comment %}{{ contact.x | y }}{% endcomment %}{% # {{ x }} %}',
    '{{ contact.firstName | default: "friend" | upcase | truncate: 20, "…" }}{{ "now" | date: "%Y" }}',
    '{% liquid\n  assign name = contact.firstName | default: "friend"\n  echo name\n%}',
  ])('is accepted: %s', (html) => expect(check(html)).toEqual([]))
})

describe('a template written to slow the check down', () => {
  test.each([
    ['many variables in one tag', `{% if ${'contact.firstName or '.repeat(40_000)}true %}{% endif %}`],
    ['many variables in a long template', `${'<p>Hello {{ contact.firstName }}</p>'.padEnd(200)}\n`.repeat(4_990)],
    ['deep nesting', `${'{% if contact.firstName %}'.repeat(1_000)}${'{% endif %}'.repeat(1_000)}`],
    ['deep access', `{{ contact${'[contact'.repeat(500)}.firstName${']'.repeat(500)} }}`],
  ])('is checked completely: %s', (_what, html) => {
    expect(check(html)).toEqual([])
  })

  test('has at most 20 faults: many unknown names in a long template', () => {
    expect(check(`{{ "${'foo |'.repeat(4_000)}" ${'| foo'.repeat(900)} }}`)).toHaveLength(20)
    expect(check(`{% if ${'contact.frstName or '.repeat(40_000)}true %}{% endif %}`)).toHaveLength(20)
    expect(check(`{{ ${'a.'.repeat(300_000)}b }}`)).toHaveLength(1)
  })

  test('has a fault, not an overflow: nesting that is too deep', () => {
    const nested = '{% if contact.firstName %}'.repeat(4_999)
    expect(check(nested)).toHaveLength(1)
    expect(check(`{{ ${'contact['.repeat(100_000)} }}`)).toHaveLength(1)
  })
})

test.each([
  ['{% if contact.email = "a" %}{% endif %}', 'line 1, column 22'],
  ['<p>\n{% unless list.name != "a" and contact.email="b" %}{% endunless %}', 'line 2, column 46'],
])('a single equals sign in a condition gets a hint: %s', (html, position) => {
  expect(check(html)).toEqual([`expected "|" before filter at ${position} (to compare, use "==")`])
})
