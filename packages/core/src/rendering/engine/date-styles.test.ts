import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { createEngine } from './liquid.ts'

const engine = createEngine()
const render = (source: string, locale?: string) => engine.render(engine.parse(source), locale ? { locale } : {})

describe('a date', () => {
  test.each([
    ['en', 'November 1, 2026'],
    ['en-GB', '1 November 2026'],
    ['de-AT', '1. November 2026'],
    ['fr', '1 novembre 2026'],
    ['es', '1 de noviembre de 2026'],
    ['it', '1 novembre 2026'],
    ['pt-BR', '1 de novembro de 2026'],
    ['no language tag', 'November 1, 2026'],
    [undefined, 'November 1, 2026'],
  ])('with the format "long" is in the language of the mail: %s', (locale, text) => {
    expect(render('{{ "2026-11-01" | date: "long" }}', locale)).toBe(text)
  })

  test('has four formats, and the language that the template sets', () => {
    const source = '{% assign locale = "fr" %}{% for style in styles %}{{ day | date: style }}/{% endfor %}'
    const values = { day: '2026-11-21', styles: ['full', 'long', 'medium', 'short'] }
    const rendered = engine.render(engine.parse(source), { ...values, locale: 'de' })
    expect(rendered).toBe('samedi 21 novembre 2026/21 novembre 2026/21 nov. 2026/21/11/2026/')
  })

  test('is that of its time zone', () => {
    const render = (offset = '') =>
      engine.render(engine.parse(`{{ "2026-11-21T23:30:00Z" | date: "long"${offset} }}`), {})
    expect([render(), render(', -60'), render(', "Asia/Tokyo"')]).toEqual([
      'November 21, 2026',
      'November 22, 2026',
      'November 22, 2026',
    ])
  })

  test('stays as it is if it is none, and with any other format', () => {
    expect(render('{{ "soon" | date: "long" }}{{ nothing | date: "long" }}', 'de')).toBe('soon')
    expect(render('{{ "2026-11-21" | date: "%-d %B %Y" }}', 'de')).toBe('21 November 2026')
    expect(render('{{ "2026-12-21" | date: "%-d %B %Y" }}', 'de')).toBe('21 December 2026')
  })
  test('has English names in other formats, whatever the language of the server', () => {
    const resolved = vi.spyOn(Intl.DateTimeFormat.prototype, 'resolvedOptions')
    resolved.mockReturnValue({ ...new Intl.DateTimeFormat().resolvedOptions(), locale: 'de' })
    onTestFinished(() => resolved.mockRestore())
    const ofGermanServer = createEngine()
    const source = '{{ "2026-12-21" | date: "%A, %-d %B %Y" }}'
    expect(ofGermanServer.render(ofGermanServer.parse(source), {})).toBe('Monday, 21 December 2026')
  })
})
