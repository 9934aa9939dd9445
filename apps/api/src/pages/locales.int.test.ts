import type { Contact } from '@rapport/core/contacts/contacts.schema.ts'
import type { Form, PublicForm } from '@rapport/core/forms/forms.schema.ts'
import { unsubscribeUrl } from '@rapport/core/lists/subscription-links.ts'
import type { List } from '@rapport/core/lists/lists.schema.ts'
import { useForFile, useForTest } from '@rapport/testing/fixtures/use-fixtures.ts'
import { describe, expect, test } from 'vitest'
import { freshEmail, password, startTestApi } from '../../test/testing.ts'

const api = useForFile(() => startTestApi())
const workspace = useForTest(() => api.signUp())

const browser = { accept: 'text/html,*/*;q=0.8' }
const fields = [
  { id: 'email', label: 'E-Mail', type: 'EMAIL', required: true, mapsTo: 'email' },
  { id: 'news', label: 'Newsletter', type: 'CONSENT' },
]
const createForm = (body: object = {}) =>
  api.create<Form>('/forms', workspace.key, { name: 'Anmeldung', fields, ...body })
const change = (path: string, body: object) => api.call('PATCH', path, { key: workspace.key, body })

/** Posts the hosted form, and returns the locale of the new contact. */
async function signUpAt(path: string, accepted: string): Promise<string | null> {
  const email = freshEmail()
  const headers = { ...browser, 'content-type': 'application/x-www-form-urlencoded', 'accept-language': accepted }
  await api.call('POST', path, { raw: new URLSearchParams({ email, news: 'on' }).toString(), headers })
  return readLocale(email)
}
async function readLocale(email: string): Promise<string | null> {
  const path = `/contacts?email=${encodeURIComponent(email)}`
  const { body } = await api.call<{ data: Contact[] }>('GET', path, { key: workspace.key })
  return body.data[0]?.locale ?? null
}

describe('a contact that signs up on a hosted form gets the language of', () => {
  test('the address of the page, then the form, the browser and the workspace', async () => {
    const { id } = await createForm()
    const path = `/f/${id}`
    expect(await signUpAt(path, '*')).toBe(null)
    await change('/workspace', { locale: 'it' })
    expect(await signUpAt(path, '*')).toBe('it')
    expect(await signUpAt(path, 'nl, de-AT;q=0.8')).toBe('de-AT')
    await change(`/forms/${id}`, { locale: 'es' })
    expect(await signUpAt(path, 'de')).toBe('es')
    expect(await signUpAt(`${path}?lang=pt-br`, 'de')).toBe('pt-BR')
  })

  test('the list, if the form has none', async () => {
    const list = await api.create<List>('/lists', workspace.key, { name: 'Brief', locale: 'fr' })
    const { id } = await createForm({ listId: list.id })
    expect(await signUpAt(`/f/${id}`, 'de')).toBe('fr')
    expect((await api.call<PublicForm>('GET', `/public/forms/${id}`)).body.locale).toBe('fr')
  })
})

test('a form without a message of its own thanks in its language', async () => {
  expect(await createForm({ locale: 'it' })).toMatchObject({ successMessage: 'Grazie.' })
  expect(await createForm({ locale: 'nl' })).toMatchObject({ successMessage: 'Thank you.' })
})

test('a contact keeps its locale when it signs up again in another language', async () => {
  const { id } = await createForm()
  const email = freshEmail()
  await api.create('/contacts', workspace.key, { email, locale: 'fr' })
  await api.call('POST', `/public/forms/${id}/submit?lang=de`, { body: { values: { email } } })
  expect(await readLocale(email)).toBe('fr')
})

test('a contact whose language has no texts is asked in the language of the form', async () => {
  const email = freshEmail()
  await api.create('/contacts', workspace.key, { email, locale: 'nl' })
  const tracking = { id: 'tracking', label: 'Statistik', type: 'CONSENT', purpose: 'TRACKING' }
  const { id } = await createForm({ locale: 'fr', fields: [...fields, tracking] })
  await api.call('POST', `/public/forms/${id}/submit`, { body: { values: { email, tracking: true } } })
  const [mail] = await api.query(`select data ->> 'locale' as locale from mails where to_address = $1`, [email])
  expect(mail).toEqual({ locale: 'fr' })
})

test('the errors of a submission are in the language of the visitor, then of the form', async () => {
  const { id } = await createForm()
  const problem = async (query = '') => {
    const path = `/public/forms/${id}/submit${query}`
    const { status, body } = await api.call<{ issues: { message: string }[] }>('POST', path, { body: { values: {} } })
    return [status, body.issues[0]?.message]
  }
  expect(await problem()).toEqual([400, 'Please fill out this field.'])
  expect(await problem('?lang=de-CH')).toEqual([400, 'Bitte füllen Sie dieses Feld aus.'])
  for (const junk of ['%00', '../..', '__proto__', 'nl', `de-${'a'.repeat(300)}`]) {
    expect(await problem(`?lang=${junk}`)).toEqual([400, 'Please fill out this field.'])
  }
  await change(`/forms/${id}`, { locale: 'fr' })
  expect(await problem()).toEqual([400, 'Veuillez remplir ce champ.'])
})

test('a visitor who subscribes through the API gets the language of the page', async () => {
  const list = await api.create<List>('/lists', workspace.key, { name: 'Brief' })
  const [known, unknown] = [freshEmail(), freshEmail()]
  const path = `/public/lists/${list.id}/subscribe`
  expect(await api.call('POST', `${path}?lang=es-MX`, { body: { email: known } })).toMatchObject({ status: 202 })
  expect(await api.call('POST', `${path}?lang=%2e%2e`, { body: { email: unknown } })).toMatchObject({ status: 202 })
  expect([await readLocale(known), await readLocale(unknown)]).toEqual(['es-MX', null])
})

test('the unsubscribe page is in the language of the contact, then of the list', async () => {
  const list = await api.create<List>('/lists', workspace.key, { name: 'Brief', locale: 'fr' })
  const { id, email } = await api.create<Contact>('/contacts', workspace.key, { email: freshEmail(), locale: 'de_at' })
  const url = unsubscribeUrl(api.ctx(workspace.id), { listId: list.id, contactId: id, email })
  const open = async (query = '') => {
    const path = `${url.replace('https://crm.example.com', '')}${query}`
    const { text } = await api.call('GET', path, { headers: { ...browser, 'accept-language': 'it' } })
    return /<html lang="([^"]*)"/.exec(text)?.[1]
  }
  expect(await open()).toBe('de-AT')
  expect(await open('&lang=pt')).toBe('pt')
  await change(`/contacts/${id}`, { locale: 'nl' })
  expect(await open()).toBe('fr')
  await change(`/lists/${list.id}`, { locale: '' })
  expect(await open()).toBe('it')
})

describe('the mail to a user is in the language of the browser:', () => {
  /** The locale of the latest mail, or null for that of the workspace. */
  const readMailLocale = async (kind: string, email: string) => {
    const condition = 'where kind = $1 and to_address = $2 order by created_at desc limit 1'
    const [mail] = await api.query(`select data ->> 'locale' as locale from mails ${condition}`, [kind, email])
    return mail?.['locale']
  }
  const german = { 'accept-language': 'nl, de-AT;q=0.8' }

  test('of a forgotten password, asked on the page or by the API', async () => {
    const { email } = workspace
    const headers = { ...browser, 'content-type': 'application/x-www-form-urlencoded', 'accept-language': 'fr-BE' }
    const raw = new URLSearchParams({ email }).toString()
    expect(await api.call('POST', '/forgot-password', { raw, headers })).toMatchObject({ status: 200 })
    expect(await readMailLocale('PASSWORD_RESET', email)).toBe('fr-BE')
    await api.call('POST', '/auth/forgot-password', { body: { email }, headers: german })
    expect(await readMailLocale('PASSWORD_RESET', email)).toBe('de-AT')
    await api.call('POST', '/auth/forgot-password', { body: { email }, headers: { 'accept-language': '*' } })
    expect(await readMailLocale('PASSWORD_RESET', email)).toBe(null)
  })

  test('of a sign-up, and of another verification', async () => {
    const email = freshEmail()
    const body = { email, password }
    const { body: session } = await api.call<{ token: string }>('POST', '/auth/signup', { body, headers: german })
    expect(await readMailLocale('EMAIL_VERIFICATION', email)).toBe('de-AT')
    await api.query(`update users set verification_mailed_at = now() - interval '2 hours' where email = $1`, [email])
    const headers = { 'accept-language': 'pt-BR' }
    await api.call('POST', '/auth/resend-verification', { key: session.token, headers })
    expect(await readMailLocale('EMAIL_VERIFICATION', email)).toBe('pt-BR')
  })
})

test.each(['/workspace', '/lists', '/forms'])('%s: an ugly locale is an error that names the field', async (path) => {
  const record = { name: 'x', ...(path === '/forms' && { fields }) }
  const method = path === '/workspace' ? 'PATCH' : 'POST'
  for (const locale of ['german', `de-DE-x-${'a'.repeat(300)}`, '__proto__', '../..', 'de\u0000', 5]) {
    const call = { key: workspace.key, body: { ...record, locale } }
    expect(await api.call(method, path, call)).toMatchObject({ status: 400, body: { issues: [{ path: 'locale' }] } })
  }
})
