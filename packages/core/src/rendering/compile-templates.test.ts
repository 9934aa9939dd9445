import { afterAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { newId } from '../kernel/ids.ts'
import { findTemplateFaults, stopRenderingThread } from './rendering.ts'
import {
  type PartialTemplateSources,
  plainTemplate,
  type TemplateSources,
  type TemplateValues,
} from './template-sources.ts'
import { compileTemplates, joinMail } from './compile-templates.ts'

const findFaults = (sources: PartialTemplateSources) =>
  findTemplateFaults(newId('wsp'), { sources, names: { customFieldKeys: ['plan'] } })
afterAll(stopRenderingThread)

const values: TemplateValues = {
  contact: { firstName: 'Ada', email: 'ada@example.com', tags: ['vip'], 'shoe size': 41 },
  campaign: { id: 'cmp_1', name: 'November' },
  list: { id: 'lst_1', name: 'Monthly news' },
  workspace: { name: 'Engines', postalAddress: '12 Dorset Street' },
  locale: 'en',
  unsubscribeUrl: 'https://crm.example.com/public/unsubscribe?token=abc.def',
  preferencesUrl: 'https://crm.example.com/public/preferences?token=ghi.jkl',
}
const rendering = (sources: Partial<TemplateSources>, input: Partial<TemplateValues> = {}) =>
  joinMail(compileTemplates({ subject: 'News', html: null, text: null, ...sources })({ ...values, ...input }))
const named = (firstName: string) => ({ contact: { firstName } })
const count = (text: string, part: string) => text.split(part).length - 1

describe('a template with a syntax error', () => {
  test.each([
    ['subject', '{{ contact.firstName', 'output "{{ contact.firstName" not closed at line 1, column 1'],
    ['html', '<p>\n  {% if contact %}', 'tag {% if contact %} not closed at line 2, column 3'],
    ['html', 'a\nb {% endif %}', 'tag "endif" not found at line 2, column 3'],
    ['text', '\n\n {% for x in %}{% endfor %}', 'illegal tag: {% for x in %} at line 3, column 2'],
    ['text', '{% raw %}', 'tag {% raw %} not closed at line 1, column 1'],
  ])('in %s, "%s", is a fault with line and column', async (field, source, message) => {
    expect(await findFaults({ [field]: source })).toEqual([{ field, message }])
  })

  test.each(['render', 'include', 'layout', 'block'])('that uses the file tag %s is a fault', async (tag) => {
    for (const file of ['/etc/passwd', '../../../etc/passwd', 'constructor', '__proto__', 'toString', 'x.liquid']) {
      const message = `tag "${tag}" not found at line 1, column 1`
      expect(await findFaults({ html: `{% ${tag} '${file}' %}` })).toEqual([{ field: 'html', message }])
      const inLiquidTag = await findFaults({ text: `{% liquid\n${tag} '${file}' %}` })
      expect(inLiquidTag).toEqual([{ field: 'text', message: expect.stringContaining(`tag "${tag}" not found`) }])
    }
  })

  test('is distinguished from an unusual but valid template', async () => {
    const odd = { subject: '50% off {x} }} %}', html: '{{ contact.customFieldValues.plan.x.y }}', text: null }
    expect(await findFaults(odd)).toEqual([])
    expect(await findFaults({})).toEqual([])
  })
})

describe('an inaccessible value', () => {
  test.each([
    '{{ contact.constructor }}{{ contact.__proto__ }}{{ contact.toString }}{{ contact.hasOwnProperty }}',
    '{{ contact.tags.constructor }}{{ contact.tags.map }}{{ contact.email.constructor }}{{ contact.email.at }}',
    '{{ constructor }}{{ __proto__ }}{{ process }}{{ global }}{{ globalThis }}{{ require }}{{ env }}{{ this }}',
    '{{ contact["constructor"]["constructor"] }}{% assign key = "__proto__" %}{{ contact[key] }}',
  ])('%s is empty', (source) => {
    expect(rendering({ text: `<${source}>{{ unsubscribeUrl }}` }).text).toBe(`<>${values.unsubscribeUrl}`)
  })

  test.each([
    '{% for i in (1..100000000) %}x{% endfor %}',
    '{% for i in (1..3000) %}{% for j in (1..3000) %}{% endfor %}{% endfor %}',
    '{% assign a = "xx" %}{% for i in (1..100) %}{% assign a = a | append: a %}{% endfor %}{{ a }}',
    '{% tablerow i in (1..100000000) cols:1000000 %}{% endtablerow %}',
    "{{ 'now' | date: '%0999999999d' }}",
    '{{ (1..19000000) | join: "xxxxxxxxxxxxxxxxxxxx" | size }}',
    '{% capture x %}{% for i in (1..4000000) %}{% cycle "a", "b" %}{% endfor %}{% endcapture %}',
  ])('%s stops at a limit', (source) => {
    expect(() => rendering({ html: source })).toThrow(/limit exceeded/)
  })
})

test('a process that waits for a processor does not meet the time limit', () => {
  const clock = vi.spyOn(performance, 'now')
  onTestFinished(() => void vi.restoreAllMocks())
  const usage = vi.spyOn(process, 'cpuUsage')
  const renderAfter = (ms: number, usedMs: number) => {
    clock.mockReturnValueOnce(0).mockReturnValue(ms)
    usage.mockReturnValue({ user: usedMs * 1_000, system: 0 })
    return rendering({ text: '{% for i in (1..3) %}{{ i }}{% endfor %}' }).text
  }
  expect(renderAfter(60_000, 249)).toMatch(/^123/)
  expect(renderAfter(249, 500)).toMatch(/^123/)
  expect(() => renderAfter(251, 251)).toThrow('template render limit exceeded')
})

describe('a rendered mail', () => {
  test('escapes values in HTML and leaves subject and text as they are', () => {
    const name = `<img src=x onerror="alert('1')"> & co {{ 7 | times: 7 }}`
    const source = 'Hello {{ contact.firstName }} {{ unsubscribeUrl }}'
    const { subject, html, text } = rendering({ subject: source, html: source, text: source }, named(name))
    expect(html).toContain('Hello &lt;img src=x onerror=&#34;alert(&#39;1&#39;)&#34;&gt; &amp; co {{ 7 | times: 7 }}')
    expect(subject).toContain(`Hello ${name}`)
    expect(text).toContain(`Hello ${name}`)
  })

  test('shows the rendered subject as campaign.subject, escaped in HTML', () => {
    const { subject, html } = rendering(
      { subject: 'For {{ contact.firstName }}', html: '<h1>{{ campaign.subject }}</h1>' },
      named('<b>Ada</b>'),
    )
    expect(subject).toBe('For <b>Ada</b>')
    expect(html).toContain('<h1>For &lt;b&gt;Ada&lt;/b&gt;</h1>')
  })

  test('shows all values, including names with spaces', () => {
    const text =
      '{{ contact["shoe size"] }} {{ campaign.name }} {{ list.name }} {{ workspace.name }} {{ unsubscribeUrl }}'
    expect(rendering({ text }).text).toBe(`41 November Monthly news Engines ${values.unsubscribeUrl}`)
  })

  test('has a text part converted from the HTML if there is no text template', () => {
    const { text } = rendering({ html: '<h1>Hello</h1><p>Read <a href="https://example.com/a">this</a>.</p>' })
    expect(text).toContain('Hello\n\nRead this [https://example.com/a].')
    expect(text).toContain(values.unsubscribeUrl)
  })

  test('has the values of each recipient in its text part, in every branch', () => {
    const render = compileTemplates({
      subject: 'x',
      html: `<p>Hi {{ contact.firstName }}!</p>{% if contact.vip %}<ul>{% for tag in contact.tags %}<li>{{ tag }}</li>{% endfor %}</ul>{% endif %}
        <a href="https://example.com/{{ contact.code }}">{{ contact.note | raw }}</a> {{ unsubscribeUrl }}`,
      text: null,
    })
    for (const [name, vip] of [
      ['A & B <i>', true],
      ['Bob\n\nx', false],
      ['\ue0000\ue001', true],
      ['', false],
      ['$& $1', true],
    ] as const) {
      const contact = { firstName: name, vip, tags: ['one', 'two & three'], code: 'c7', note: '<b>bold</b>' }
      const { html = '', text } = joinMail(render({ ...values, contact }))
      expect(html).toContain(`<p>Hi ${name.replace('&', '&amp;').replace('<i>', '&lt;i&gt;')}!</p>`)
      expect(text).toContain(`Hi ${name.replace(/\s+/g, ' ')}!`)
      expect(text.includes(' * one\n * two & three')).toBe(vip)
      expect(text).toContain(`bold [https://example.com/c7] ${values.unsubscribeUrl}`)
    }
  })

  test('has the same text as a conversion of its own HTML', () => {
    const html = `<h1>Hi {{ contact.firstName }}</h1>{% if contact.vip %}<p>For {{ contact.lastName }} only</p>{% endif %}
      <ul><li>{{ contact.note }}</li></ul><a href="{{ unsubscribeUrl }}">Leave</a>`
    const render = compileTemplates({ subject: 'x', html, text: null })
    // A template with `capture` is rendered without placeholders.
    const renderWithoutPlaceholders = compileTemplates({
      subject: 'x',
      html: `${html}{% capture x %}{% endcapture %}`,
      text: null,
    })
    for (const [firstName, vip] of [
      ['Ada & Bob <i>', true],
      ['Zoë 🦉', false],
      ['', true],
    ] as const) {
      const input = { ...values, contact: { firstName, lastName: '=?x', vip, note: 'a "b" \'c\'  d' } }
      const [withPlaceholders, withoutPlaceholders] = [
        joinMail(render(input)),
        joinMail(renderWithoutPlaceholders(input)),
      ]
      expect(withPlaceholders.html).toBe(withoutPlaceholders.html)
      // An empty value leaves the preceding space.
      expect(withPlaceholders.text.replace(/ +$/gm, '')).toBe(withoutPlaceholders.text)
    }
  })

  test('shows all values in order, also more than 1,000', () => {
    const { html, text } = rendering({
      html: '{% for i in (1..1100) %}<i>{{ i }}</i> {% endfor %}{{ unsubscribeUrl }}',
    })
    const numbers = Array.from({ length: 1_100 }, (_, n) => n + 1)
    expect(html).toBe(`${numbers.map((n) => `<i>${n}</i> `).join('')}${values.unsubscribeUrl}`)
    expect(text).toBe(`${numbers.join(' ')} ${values.unsubscribeUrl}`)
  })

  test('shows captured and sliced values in both parts', () => {
    const html = '{% capture name %}{{ contact.firstName }}{% endcapture %}<p>{{ name | slice: 0, 3 }}</p>'
    const { html: part, text } = rendering({ html }, named('Augusta'))
    expect(part).toContain('<p>Aug</p>')
    expect(text).toContain('Aug\n')
  })

  test('has no HTML part if there is only a text template', () => {
    expect(rendering({ text: 'Hi' })).not.toHaveProperty('html')
  })

  test('contains no values of the previous recipient', () => {
    const render = compileTemplates({
      subject: 'x',
      html: null,
      text: '{% assign seen = seen | append: contact.firstName %}{{ seen }}{% increment n %} {{ unsubscribeUrl }}',
    })
    expect(joinMail(render({ ...values, ...named('Ada') })).text).toBe(`Ada0 ${values.unsubscribeUrl}`)
    expect(joinMail(render({ ...values, ...named('Bob') })).text).toBe(`Bob0 ${values.unsubscribeUrl}`)
  })
})

describe('the footer', () => {
  const link = `<a href="${values.unsubscribeUrl}"`

  test('is in the language of the mail, and names the list in its own words', () => {
    const render = compileTemplates({ subject: 'x', html: '<p>Hi</p>', text: 'Hi {{ locale }}' })
    const { html, text } = joinMail(render({ ...values, locale: 'de-AT' }))
    expect(text).toContain('Hi de-AT\n\n--\nSie erhalten diese E-Mail, weil Sie für „Monthly news“ angemeldet sind.')
    expect(text).toContain(`Abmelden: ${values.unsubscribeUrl}`)
    expect(html).toContain('<div lang="de" style=')
  })

  test('with link and postal address is added to each part without a link', () => {
    const { html, text } = rendering({ html: '<p>Hi</p>', text: 'Hi' })
    expect(html).toMatch(/^<p>Hi<\/p>\n<div/)
    expect(html).toContain(link)
    expect(html).toContain(`<a href="${values.preferencesUrl}"`)
    expect(html).toContain('12 Dorset Street')
    expect(text).toBe(
      `Hi\n\n--\nYou are receiving this email because you are subscribed to “Monthly news”.\nUnsubscribe: ${values.unsubscribeUrl}\nEmail preferences: ${values.preferencesUrl}\n12 Dorset Street`,
    )
  })

  test('is omitted only from the part whose template has the link', () => {
    const { html, text } = rendering({ html: '<p><a href="{{ unsubscribeUrl }}">bye</a></p>', text: 'Hi' })
    expect(html).toBe(`<p><a href="${values.unsubscribeUrl}">bye</a></p>`)
    expect(text).toContain(`Unsubscribe: ${values.unsubscribeUrl}`)
  })

  test('omits a missing postal address and escapes the values', () => {
    const without = rendering({ text: 'Hi' }, { workspace: { name: 'Engines', postalAddress: null } })
    expect(without.text.endsWith(String(values.preferencesUrl))).toBe(true)
    const { html } = rendering({ html: 'Hi' }, { list: { name: '<i>L</i>' }, workspace: { postalAddress: '<b>1</b>' } })
    expect(html).toContain('&lt;b&gt;1&lt;/b&gt;')
    expect(html).toContain('&lt;i&gt;L&lt;/i&gt;')
  })

  test.each([
    '<html><body><p>Hi</p></body></html>',
    '<HTML><BODY><p>Hi</p></BODY ></HTML>',
    '<BODY>İstanbul İİİİİİİİİİİİİİİİ</BODY>',
    '<body>{% raw %}{{ x }}</body>{% endraw %}',
    '<body>Hi{% assign end = "</body>" %}{{ end | raw }}',
    '{% comment %}</body>{% endcomment %}<p>Hi</p>',
    '<body><p>{{ "</body>" }}</p>{% if true %}</body>{% endif %}',
  ])('is added once, inside the body, to %s', async (source) => {
    expect(await findFaults({ html: source })).toEqual([])
    const { html = '' } = rendering({ html: source })
    expect(count(html, link)).toBe(1)
    expect(html).not.toContain('{{ unsubscribeUrl')
    const [body = ''] = html.split(/<\/body\s*>/i)
    expect(body).toContain(link)
  })
})

test('the default template of a campaign without HTML and text can be rendered', async () => {
  expect(await findFaults({ html: plainTemplate })).toEqual([])
  const { html, text } = rendering({ subject: 'News & more', html: plainTemplate })
  expect(html).toContain('<h1>News &amp; more</h1>\n<p>Hello Ada,</p>')
  expect(text).toContain('News & more\n\nHello Ada,')
  expect(rendering({ html: plainTemplate }, named('')).html).toContain('Hello there,')
})
