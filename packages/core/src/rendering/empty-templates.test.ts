import { describe, expect, test } from 'vitest'
import type { TemplateSources, TemplateValues } from './template-sources.ts'
import { compileTemplates, joinMail } from './compile-templates.ts'

const values: TemplateValues = {
  contact: { firstName: 'Ada', email: 'ada@example.com' },
  campaign: { id: 'cmp_1', name: 'November' },
  list: { id: 'lst_1', name: 'Monthly news' },
  workspace: { name: 'Engines', postalAddress: '12 Dorset Street' },
  locale: 'en',
  unsubscribeUrl: 'https://crm.example.com/public/unsubscribe?token=abc.def',
  preferencesUrl: 'https://crm.example.com/public/preferences?token=ghi.jkl',
}
const rendering = (sources: Partial<TemplateSources>) =>
  joinMail(compileTemplates({ subject: 'News', html: null, text: null, ...sources })(values))

describe('a part that does not show the link', () => {
  const link = `<a href="${values.unsubscribeUrl}"`
  test.each([
    '<p>Hi</p>{% comment %}{{ unsubscribeUrl }}{% endcomment %}',
    '<p>Hi</p>{% if false %}{{ unsubscribeUrl }}{% endif %}',
    '<p>Hi</p>{{ unsubscribeUrl | slice: 0, 5 }}',
    '<p>Hi</p><!-- <a href="{{ unsubscribeUrl }}">Unsubscribe</a> -->',
    '<style>{{ unsubscribeUrl }}</style><p>Hi</p>',
    '<p title="{{ unsubscribeUrl }}">Hi</p>',
    '{% capture link %}<!-- {{ unsubscribeUrl }} -->{% endcapture %}<p>Hi</p>{{ link | raw }}',
    'Hi <!-- {{ unsubscribeUrl }}',
    '<html><body class="a"><p>Hi</p><!-- not closed',
    '<p>Hi</p><style>p {',
    '<p>Hi</p><!-- </body> -->',
  ])('has the footer where it is shown, in HTML and text: %s', (source) => {
    const { html = '', text } = rendering({ html: source })
    const shown = html.replace(/<!--.*?(-->|$)|<style.*?(<\/style>|$)/gs, '')
    expect(shown).toContain(link)
    expect(shown).toContain('12 Dorset Street')
    expect(text).toContain(`Email preferences: ${values.preferencesUrl}\n12 Dorset Street`)
  })

  test.each([
    'Hi{% comment %}{{ unsubscribeUrl }}{% endcomment %}',
    'Hi{% if contact.x %}{{ unsubscribeUrl }}{% endif %}',
  ])('has the footer in a text template: %s', (source) => {
    expect(rendering({ text: source }).text).toContain(`Hi\n\n--\nYou are receiving`)
  })
})

describe('a template that is empty', () => {
  const nothing = ['', ' \r\n\t', '{% comment %}later{% endcomment %}', '\u00a0{%- # later -%}']
  const noHtml = [...nothing, '<!-- later -->', ' <!-- a --> <!-- b ', '{% comment %}x{% endcomment %}<!---->']

  test.each([null, ...noHtml])('is ignored as HTML, and without text the plain template is sent: %j', (html) => {
    for (const text of [null, ...nothing]) {
      const mail = rendering({ subject: 'News', html, text })
      expect(mail.html).toContain('<h1>News</h1>')
      expect(mail.text).toContain('News\n\nHello Ada,')
      expect(mail.text).toContain(`Unsubscribe: ${values.unsubscribeUrl}`)
    }
    expect(rendering({ html, text: 'Hi' })).toEqual({ subject: 'News', text: expect.stringMatching(/^Hi\n\n--\n/) })
  })

  test.each(nothing)('is ignored as text, and the HTML is converted: %j', (text) => {
    expect(rendering({ html: '<p>Hi</p>', text }).text).toMatch(/^Hi\n+--\nYou are receiving/)
  })

  test('as text does not include HTML comments, which a text shows', () => {
    expect(rendering({ text: '<!-- Hi -->' }).text).toMatch(/^<!-- Hi -->\n/)
  })
})

describe('a template that renders to nothing', () => {
  const empty = (field: string) => `the ${field} is empty for this contact`

  test.each([
    '{% if contact.vip %}<p>Hi</p>{% endif %}',
    '<html><head><title>News</title></head><body>\n<table><tr><td>&nbsp;{{ contact.vip }}</td></tr></table></body></html>',
    '{% capture hi %}{{ contact.vip }}{% endcapture %}{{ hi }}<!-- {{ contact.firstName }} -->',
    '<p style="x">&#8203;&shy;</p>',
  ])('fails as HTML: %s', (html) => {
    expect(() => rendering({ html })).toThrow(empty('HTML part'))
    expect(() => rendering({ html, text: 'Hi' })).toThrow(empty('HTML part'))
  })

  test.each([
    '<img src="https://example.com/a.png" alt="">',
    '<td background="a.png"></td>',
    '<video src="a"></video>',
  ])('does not include HTML with media only: %s', (html) => expect(rendering({ html }).html).toContain(html))

  test('fails as text or as subject', () => {
    expect(() => rendering({ text: ' {{ contact.vip }}\n' })).toThrow(empty('text part'))
    expect(() => rendering({ html: 'Hi', text: '{% if false %}Hi{% endif %}' })).toThrow(empty('text part'))
    for (const subject of ['{{ contact.vip }}', ' {% comment %}x{% endcomment %}', '\u200b']) {
      expect(() => rendering({ subject, text: 'Hi' })).toThrow(empty('subject'))
    }
  })
})
