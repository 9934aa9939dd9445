import { describe, expect, test } from 'vitest'
import { chooseMailLanguage, choosePageLanguage, findLanguage, parseAcceptLanguage } from './languages.ts'

test.each([
  ['de-AT', { language: 'de', locale: 'de-AT' }],
  ['pt-BR', { language: 'pt', locale: 'pt-BR' }],
  ['zh', undefined],
  ['constructor', undefined],
])('the locale %s has the texts %j', (locale, found) => expect(findLanguage([locale])).toEqual(found))

describe('a mail is in the language of', () => {
  const all = { contact: 'fr-CA', request: 'pt', content: 'es', workspace: 'it' }
  test.each([
    ['the contact', all, 'fr-CA'],
    ['the request, for a contact without one', { ...all, contact: null }, 'pt'],
    ['the request, for a contact whose language has no texts', { ...all, contact: 'nl' }, 'pt'],
    ['the list', { ...all, contact: null, request: null }, 'es'],
    ['the workspace', { contact: null, content: null, workspace: 'it' }, 'it'],
    ['English', { contact: null, content: null, workspace: null }, 'en'],
  ])('%s', (_, locales, locale) => expect(chooseMailLanguage(locales).locale).toBe(locale))
})

describe('a page is in the language of', () => {
  const all = { contact: 'fr', content: 'es', workspace: 'it' }
  test.each([
    ['pt', { requested: 'pt', accepted: 'de', ...all }],
    ['fr', { accepted: 'de', ...all }],
    ['es', { accepted: 'de', ...all, contact: null }],
    ['de', { accepted: 'nl, de;q=0.5', workspace: 'it' }],
    ['it', { accepted: '*', workspace: 'it' }],
  ])('%s, with %j', (locale, reasons) => {
    expect(choosePageLanguage(reasons, reasons)).toMatchObject({ locale, isKnown: true })
  })

  test('English, without any reason', () => {
    expect(choosePageLanguage({ requested: 'nl', accepted: '*' })).toEqual({
      language: 'en',
      locale: 'en',
      isKnown: false,
    })
  })
})

test.each([
  ['de-AT, de;q=0.9, en;q=0.8', ['de-AT', 'de', 'en']],
  ['en;q=0.5,fr', ['fr', 'en']],
  ['fr;q=0, it ; Q = 0.1', ['it']],
  ['en;q=x, de', ['de']],
  ['\u0000,;;q=;=,,*', ['\u0000', '', '*']],
])('Accept-Language: %j has the tags %j', (header, tags) => expect(parseAcceptLanguage(header)).toEqual(tags))

test('of Accept-Language, only the start is read', () => {
  expect(parseAcceptLanguage(`de${' '.repeat(1_000_000)}en`)).toEqual(['de'])
})
