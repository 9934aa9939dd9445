import { expect, test } from 'vitest'
import { Locale } from './locale.ts'

test.each([
  ['de', 'de'],
  ['de-at', 'de-AT'],
  ['PT-br', 'pt-BR'],
  ['zh-hant-tw', 'zh-Hant-TW'],
  ['iw', 'he'],
  [' de_AT\n', 'de-AT'],
  ['', ''],
  ['de-u-nu-latn', 'de-u-nu-latn'],
])('the locale %s is stored as %s', (text, locale) => expect(Locale.parse(text)).toBe(locale))

const noLocales = ['d', 'german', 'de_DE.UTF-8', 'de-', 'de--AT', '-de', 'x-german', 'de-DE-x-formal', 'i-klingon', '*']
const uglyTexts = ['__proto__', 'constructor', '../..', 'de\u0000', 'dé', 'de-AT-AT', `de${'-abcdefgh'.repeat(40)}`]
test.each([...noLocales, ...uglyTexts])('%j is no locale', (text) => {
  const message = 'must be a language tag (BCP 47) such as de or pt-BR'
  expect(Locale.safeParse(text).error?.issues).toMatchObject([{ message }])
})
