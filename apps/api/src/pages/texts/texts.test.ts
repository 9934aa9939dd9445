import { formTexts } from '@rapport/core/forms/texts/form-texts.ts'
import { languages } from '@rapport/core/kernel/values/languages.ts'
import { mailTexts } from '@rapport/core/mail/texts/mail-texts.ts'
import { describe, expect, test } from 'vitest'
import { pageTexts } from '../page-language.ts'
import { listTexts } from './list-texts.ts'

const areas = { pages: pageTexts, forms: formTexts, mails: mailTexts }
const markersIn = (text: string) => (text.match(/⟨\d⟩/g) ?? []).toSorted()

describe.each(Object.entries(areas))('the texts of %s', (_, translations) => {
  const english = listTexts(translations.en)

  test.each(languages.filter((language) => language !== 'en'))(
    'in %s show the same values as in English',
    (language) => {
      const texts = listTexts(translations[language])
      expect(texts.map(([path, text]) => [path, markersIn(text)])).toEqual(
        english.map(([path, text]) => [path, markersIn(text)]),
      )
    },
  )

  /** The same word in both languages. */
  const sameWords = ['Email', 'Password']
  test.each(languages.filter((language) => language !== 'en'))('are all translated in %s', (language) => {
    const known = new Map(english)
    const same = listTexts(translations[language]).filter(([path, text]) => known.get(path) === text)
    expect(same.filter(([, text]) => !sameWords.includes(text))).toEqual([])
  })

  /** Straight quotes and two spaces are typing mistakes; a text ends like its English counterpart. */
  test.each(languages)('are typeset in %s', (language) => {
    for (const [path, text] of listTexts(translations[language])) {
      expect([path, text]).toEqual([path, expect.not.stringMatching(/["']|\s{2}|^\s|\s$/)])
      const ending = new Map(english).get(path)?.endsWith('.')
      expect([path, text.endsWith('.')]).toEqual([path, ending])
    }
  })

  test('have the spaces of French punctuation', () => {
    for (const [path, text] of listTexts(translations.fr)) {
      expect([path, text]).toEqual([path, expect.not.stringMatching(/[^\u202f][:;?!»]|«[^\u202f]|\u00a0/)])
    }
  })
})

test('the texts of pages never break "e-mail" at its hyphen, also with values', () => {
  expect(listTexts(pageTexts).filter(([, text]) => /e-mail/i.test(text))).toEqual([])
  expect(pageTexts.pt.preferences.asked('p')).toContain('e\u2011mail que enviamos para p')
})
