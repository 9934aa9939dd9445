import type { Contact } from '@rapport/core/contacts/contacts.schema.ts'
import type { Form } from '@rapport/core/forms/forms.schema.ts'
import { languages } from '@rapport/core/kernel/values/languages.ts'
import { confirmationUrl, testUnsubscribeUrl, unsubscribeUrl } from '@rapport/core/lists/subscription-links.ts'
import type { List } from '@rapport/core/lists/lists.schema.ts'
import { preferencesUrl } from '@rapport/core/consent/preferences-links.ts'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { beforeAll, describe, expect, test } from 'vitest'
import { type ApiResponse, freshEmail, password, startTestApi } from '../../test/testing.ts'
import { pageTexts } from './page-language.ts'
import { listTexts } from './texts/list-texts.ts'
import { timestampNow } from '@rapport/core/kernel/values/timestamps.ts'

const api = useForFile(() => startTestApi())
const workspace = useForFile(() => api.signUp())

const browser = { accept: 'text/html,*/*;q=0.8' }
const get = (path: string, headers = {}) => api.call('GET', path, { headers: { ...browser, ...headers } })
const post = (path: string, fields: Record<string, string> = {}) =>
  api.call('POST', path, {
    raw: new URLSearchParams(fields).toString(),
    headers: { ...browser, 'content-type': 'application/x-www-form-urlencoded' },
  })
const withoutOrigin = (url: string) => url.replace('https://crm.example.com', '')

interface Paths {
  confirm: string
  unsubscribe: string
  preferences: string
  test: string
  form: string
  acceptInvite: string
  joinWithAccount: string
  resetPassword: string
  verifyEmail: string
}
let paths: Paths
beforeAll(async () => {
  const { key, token } = workspace
  const list = await api.create<List>('/lists', key, { name: 'Brief' })
  const contact = await api.create<Contact>('/contacts', key, { email: freshEmail() })
  await api.call('POST', `/public/lists/${list.id}/subscribe`, { body: { email: contact.email } })
  const link = { listId: list.id, contactId: contact.id, email: contact.email }
  const other = await api.create<Contact>('/contacts', key, { email: freshEmail() })
  await api.call('POST', `/lists/${list.id}/subscribers`, { key, body: { contactId: other.id, status: 'CONFIRMED' } })
  const form = await api.create<Form>('/forms', key, { name: 'Brief', fields, successMessage: 'Merci.' })
  const [invited, known] = [freshEmail(), await api.signUp()]
  for (const email of [invited, known.email]) await api.create('/invites', token, { email, role: 'MEMBER' })
  const verifyEmail = `/verify-email?token=${await api.tokenMailedTo(workspace.email)}`
  await api.call('POST', '/auth/forgot-password', { body: { email: workspace.email } })
  paths = {
    confirm: withoutOrigin(confirmationUrl(api.ctx(workspace.id), { ...link, issuedAt: timestampNow() })),
    unsubscribe: withoutOrigin(unsubscribeUrl(api.ctx(workspace.id), link)),
    preferences: withoutOrigin(preferencesUrl(api.ctx(workspace.id), { contactId: other.id, email: other.email })),
    test: withoutOrigin(testUnsubscribeUrl(api.ctx(workspace.id), list.id)),
    form: `/f/${form.id}`,
    acceptInvite: `/accept-invite?token=${await api.tokenMailedTo(invited)}`,
    joinWithAccount: `/accept-invite?token=${await api.tokenMailedTo(known.email)}`,
    resetPassword: `/reset-password?token=${await api.tokenMailedTo(workspace.email)}`,
    verifyEmail,
  }
})

const fields = [
  { id: 'email', label: 'E', type: 'EMAIL', required: true },
  { id: 'line', label: 'L', type: 'TEXT' },
  { id: 'age', label: 'A', type: 'NUMBER' },
  { id: 'day', label: 'D', type: 'DATE' },
  { id: 'size', label: 'S', type: 'SELECT', options: ['S'] },
  { id: 'news', label: 'N', type: 'CONSENT', required: true },
]
const wrongValues = { email: 'x', line: 'a\nb', age: 'x', day: 'x', size: 'L' }

/** The English texts that a page must not show in another language. A single word can be the same in two languages. */
const english = listTexts(pageTexts.en)
  .flatMap(([, text]) => text.split(/⟨\d⟩/))
  .filter((part) => /\w \w/.test(part))

function expectLanguage({ text, headers }: ApiResponse, language: string) {
  expect(text).toContain(`<html lang="${language}" dir="ltr">`)
  expect(headers).toMatchObject({ 'content-language': language, vary: expect.stringContaining('accept-language') })
  expect(language === 'en' ? [] : english.filter((part) => text.includes(part.trim()))).toEqual([])
}

describe.each(languages)('in %s:', (language) => {
  const inLanguage = (path: string) => `${path}${path.includes('?') ? '&' : '?'}lang=${language}`
  const { subscription, form, account, brokenLink } = pageTexts[language]

  test('the pages of a subscription', async () => {
    const { confirm, unsubscribe, test: testPath } = paths
    const opened: [string, ApiResponse][] = [
      [subscription.confirm.title, await get(inLanguage(confirm))],
      [subscription.confirmed.title, await post(inLanguage(confirm))],
      [subscription.unsubscribe.title, await get(inLanguage(unsubscribe))],
      [subscription.test.title, await get(inLanguage(testPath))],
      [subscription.brokenConfirmation, await get(inLanguage('/public/subscriptions/confirm?token=x'))],
      [subscription.brokenUnsubscribe, await get(inLanguage('/public/unsubscribe?token=x'))],
      [subscription.brokenUndo, await post(inLanguage('/public/subscriptions/undo-unsubscribe?token=x'))],
      [pageTexts[language].brokenTrackedLink, await get(inLanguage('/public/click?token=x'))],
    ]
    const unsubscribed = await post(inLanguage(unsubscribe))
    opened.push([subscription.unsubscribed.title, unsubscribed])
    const undo = /action="([^"]*)"/.exec(unsubscribed.text)?.[1]?.replaceAll('&amp;', '&') ?? ''
    expect(undo).toContain(`&lang=${language}`)
    opened.push([subscription.restored.title, await post(`/public/${undo}`)])
    for (const [text, page] of opened) {
      expect(page.text).toContain(text)
      expectLanguage(page, language)
    }
  })

  test('the preferences page', async () => {
    const { preferences: texts } = pageTexts[language]
    const token = paths.preferences.split('token=')[1] ?? ''
    const opened: [string, ApiResponse][] = [
      [texts.title, await get(inLanguage(paths.preferences))],
      [texts.title, await post(inLanguage('/public/preferences'), { token, stop: 'all' })],
      [texts.left, await get(inLanguage(paths.preferences))],
      [subscription.brokenUnsubscribe, await get(inLanguage('/public/preferences?token=x'))],
    ]
    for (const [text, page] of opened) {
      expect(page.text).toContain(text)
      expectLanguage(page, language)
    }
  })

  test('the pages of a form', async () => {
    const sent = await post(inLanguage(paths.form), { email: 'ada@example.com', news: 'on' })
    expect([sent.status, sent.headers['location']]).toEqual([303, `./${paths.form.slice(3)}/thanks?lang=${language}`])
    const opened: [string, ApiResponse][] = [
      [form.send, await get(inLanguage(paths.form))],
      [form.problems, await post(inLanguage(paths.form), wrongValues)],
      [form.changed, await post(inLanguage(paths.form), { email: 'ada@example.com', news: 'on', _version: 'x' })],
      ['Merci.', await get(`/f/${sent.headers['location']}`)],
      [form.unavailable.title, await get(inLanguage('/f/frm_01kag7m3v9e8fs2t4w6x8y0z1b'))],
    ]
    for (const [text, page] of opened) {
      expect(page.text).toContain(text)
      expectLanguage(page, language)
    }
    // The words of the operator stay as they are.
    expect(opened[0]?.[1].text).toContain('<h1>Brief</h1>')
  })

  test('the pages of an account', async () => {
    const short = { password: 'short' }
    const wrong = { password: 'not the password at all' }
    const opened: [string, ApiResponse][] = [
      [account.acceptInvite.newAccount, await get(inLanguage(paths.acceptInvite))],
      [account.problems.passwordLength, await post(inLanguage(paths.acceptInvite), short)],
      [account.problems.name, await post(inLanguage(paths.acceptInvite), { password, name: 'x'.repeat(201) })],
      [account.acceptInvite.knownAccount, await get(inLanguage(paths.joinWithAccount))],
      [account.acceptInvite.wrongPassword, await post(inLanguage(paths.joinWithAccount), wrong)],
      [account.resetPassword.title, await get(inLanguage(paths.resetPassword))],
      [account.problems.passwordMissing, await post(inLanguage(paths.resetPassword))],
      [account.problems.passwordUnsuitable, await post(inLanguage(paths.resetPassword), { password: 'a'.repeat(20) })],
      [account.verifyEmail.title, await get(inLanguage(paths.verifyEmail))],
      [account.verifyEmail.wrongPassword, await post(inLanguage(paths.verifyEmail), wrong)],
      [account.forgotPassword.title, await get(inLanguage('/forgot-password'))],
      [account.forgotPassword.done.title, await post(inLanguage('/forgot-password'), { email: 'ada@example.com' })],
      ['role="alert"', await post(inLanguage('/forgot-password'), { email: 'x' })],
    ]
    for (const path of ['/accept-invite', '/reset-password', '/verify-email']) {
      opened.push([brokenLink, await get(inLanguage(`${path}?token=x`))])
    }
    for (const [text, page] of opened) {
      expect(page.text).toContain(text)
      expectLanguage(page, language)
    }
  })
})

test.each([
  ['nl', undefined, 'en'],
  ['de', 'fr', 'de'],
  ['nl', 'fr-CA, en;q=0.5', 'fr-CA'],
  ['../..', 'pt-br', 'pt-BR'],
  ['__proto__', '\u00ff,;q=x,,*;q=0, de-x-a', 'en'],
  ['%00', '', 'en'],
  [`de-DE-x-${'a'.repeat(300)}`, `${'a,'.repeat(200)}it`, 'it'],
])('?lang=%s with Accept-Language %s shows a page in %s', async (lang, accepted, locale) => {
  const page = await get(`/forgot-password?lang=${lang}`, accepted === undefined ? {} : { 'accept-language': accepted })
  expect(page.status).toBe(200)
  expect(page.text).toContain(`<html lang="${locale}" dir="ltr">`)
})
