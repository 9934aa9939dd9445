import { expect, test } from 'vitest'
import { type MailContent, renderMailLayout } from './mail-layout.ts'

const content: MailContent = {
  language: { language: 'de', locale: 'de-AT' },
  title: 'Tea & <b>cake</b>',
  paragraphs: ['One.', 'Two.'],
  button: { label: 'Come', url: 'https://crm.example.com/come?a=1&b=2' },
  small: 'Small print.',
}
const { html, text } = renderMailLayout(content)

test('the mail says its language', () => expect(html).toContain('<html lang="de-AT" dir="ltr">'))

test('every element with a color has a dark color too', () => {
  const [, dark = ''] = /@media \(prefers-color-scheme: dark\) \{([^]*?)\n\}/.exec(html) ?? []
  const elements = [...html.matchAll(/<\w[^>]*style="([^"]*)"[^>]*>/g)]
  const colored = elements.filter(([, style = '']) => /(^|;)(color|background):/.test(style))
  expect(colored.length).toBeGreaterThan(5)
  for (const [element, style = ''] of colored) {
    const [, name] = /class="(\w+)"/.exec(element) ?? []
    const [, rule = ''] = new RegExp(`\\.${name} \\{(.*)\\}`).exec(dark) ?? []
    for (const property of ['color', 'background']) {
      const declares = (declarations: string) => new RegExp(`(^|[; ])${property}:`).test(declarations)
      expect([element, property, declares(style) && !declares(rule)]).toEqual([element, property, false])
    }
  }
  expect(html).toContain('<meta name="color-scheme" content="light dark">')
})

test('HTML and text have the same content, and values are escaped in HTML', () => {
  expect(html).toContain('<h1 class="ink"')
  expect(html).toContain('>Tea &amp; &lt;b&gt;cake&lt;/b&gt;</h1>')
  expect(html).toContain('href="https://crm.example.com/come?a=1&amp;b=2"')
  expect(text).toBe(
    'Tea & <b>cake</b>\n\nOne.\n\nTwo.\n\nCome:\nhttps://crm.example.com/come?a=1&b=2\n\nSmall print.\n',
  )
})

test('the logo and the accent color of the workspace, in light and dark', () => {
  const branding = { name: 'Engines & Co', logoUrl: 'https://example.com/logo.png', accentColor: '#7a1fa2' }
  const branded = renderMailLayout({ ...content, branding }).html
  expect(branded).toContain('<img class="logo" src="https://example.com/logo.png" alt="Engines &amp; Co"')
  expect(branded).toContain('background:#7a1fa2')
  expect(branded).toMatch(/\.button \{ color: #18191b !important; background: #[c-d][0-9a-f]{5} !important \}/)
  expect(html).not.toContain('<img')
})
