import { Id, uuidOf } from '@rapport/core/kernel/ids.ts'
import type { Form } from '@rapport/core/forms/forms.schema.ts'
import type { Submission } from '@rapport/core/forms/submissions.schema.ts'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { beforeAll, expect, test } from 'vitest'
import { type ApiResponse, type Call, expectError, freshEmail, startTestApi } from '../../test/testing.ts'

const api = useForFile(() => startTestApi())
const workspace = useForFile(() => api.signUp())
let form: Form
beforeAll(async () => {
  form = await make()
})

const fields = [
  { id: 'email', label: 'Email', type: 'EMAIL', required: true, mapsTo: 'email' },
  { id: 'message', label: 'Message', type: 'TEXTAREA' },
  { id: 'size', label: 'Size', type: 'SELECT', options: ['S', 'two  spaces'] },
  { id: 'age', label: 'Age', type: 'NUMBER' },
  { id: 'news', label: 'Send me the newsletter', type: 'CONSENT' },
]
const browser = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }
const posted = { ...browser, 'content-type': 'application/x-www-form-urlencoded' }
const make = (body: object = {}) => api.create<Form>('/forms', workspace.key, { name: 'Contact us', fields, ...body })
const change = (id: string, body: object) => api.call('PATCH', `/forms/${id}`, { key: workspace.key, body })
const get = (path: string) => api.call('GET', path, { headers: browser })
const post = (raw: string | Buffer, of = form, call: Call = {}) =>
  api.call('POST', `/f/${of.id}`, { raw, headers: posted, ...call })
const submissionsOf = async ({ id }: Form) =>
  (await api.call<{ data: Submission[] }>('GET', `/forms/${id}/submissions?limit=100`, { key: workspace.key })).body
    .data
const hiddenIn = (page: ApiResponse, name: string) =>
  new RegExp(`name="${name}" value="([^"]*)"`).exec(page.text)?.[1] ?? ''
const hint = 'If you asked for emails, please confirm with the link in the email that we send you.'
/** Encodes the values as a browser does. */
const formOf = (values: Record<string, string>) => new URLSearchParams(values).toString()

function expectPage(response: ApiResponse, status: number) {
  expect([response.status, response.headers['content-type']]).toEqual([status, 'text/html; charset=utf-8'])
  expect(response.headers['content-security-policy']).toMatch(
    /^default-src 'none'; style-src 'sha256-[\w+/=]{44}'; form-action 'self'; base-uri 'none'; frame-ancestors \*$/,
  )
  expect(response.headers).toMatchObject({
    'referrer-policy': 'no-referrer',
    'cache-control': 'no-store, max-age=0, private',
    'x-content-type-options': 'nosniff',
  })
  expect(response.headers['set-cookie']).toBeUndefined()
  expect(response.headers['access-control-allow-origin']).toBeUndefined()
  expect(response.text).toMatch(/^<!doctype html>\n<html lang="en" dir="ltr">/)
  expect(response.text).not.toMatch(/<script|\ssrc=|\son\w+=|\{\{|\}\}/)
}

test('each control of a form page has its label, for any field ids', async () => {
  const awkward = ['trap', 'a', 'a-problem', 'problem-a', 'constructor', 'submit', 'f-a']
  const types = ['TEXT', 'TEXTAREA', 'EMAIL', 'PHONE', 'NUMBER', 'DATE', 'CHECKBOX', 'CONSENT']
  const all = await make({
    fields: [
      ...awkward.map((id) => ({ id, label: `Called ${id}`, type: 'TEXT' })),
      ...types.map((type) => ({ label: `Of ${type}`, type, required: true })),
      { label: 'Of SELECT', type: 'SELECT', options: ['S', 'L'] },
    ],
  })
  for (const page of [await get(`/f/${all.id}`), await post('age=1', all)]) {
    expectPage(page, page.status)
    const ids = [...page.text.matchAll(/\sid="([^"]*)"/g)].map(([, id]) => id)
    expect(new Set(ids).size).toBe(ids.length)
    const labels = [...page.text.matchAll(/<label for="([^"]*)"/g)].map(([, id]) => id)
    const controls = [...page.text.matchAll(/<(?:input|select|textarea)(?: type="(\w+)")? id="([^"]*)"/g)].map(
      ([, , id]) => id,
    )
    expect(new Set(labels)).toEqual(new Set(controls))
    for (const [, id] of page.text.matchAll(/aria-describedby="([^"]*)"/g)) expect(ids).toContain(id)
  }
})

const markup = `"><script>alert(1)</script><img src=x onerror=alert(1)> {{ 7 | times: 7 }} {% raw %} ' & \${x}`
test('escapes names, labels, options, messages and posted values', async () => {
  const evil = await make({
    name: markup,
    successMessage: markup,
    fields: [
      { id: 'text', label: markup, type: 'TEXT' },
      { id: 'area', label: markup, type: 'TEXTAREA' },
      { id: 'choice', label: markup, type: 'SELECT', options: [markup, `</option></select>${markup}`] },
      { id: 'yes', label: markup, type: 'CONSENT', required: true },
    ],
  })
  const escaped = '&#34;&gt;&lt;script&gt;alert(1)&lt;/script&gt;'
  const again = await post(
    formOf({
      text: markup,
      area: `</textarea>${markup}`,
      choice: markup,
      [markup]: markup,
      _key: markup,
      _version: markup,
    }),
    evil,
  )
  for (const page of [await get(`/f/${evil.id}`), await get(`/f/${evil.id}/thanks`), again]) {
    expect(page.text).toContain(escaped)
    expect(page.text).not.toMatch(/<script|<img|<\/textarea>[^\n]|\s49\s/)
    expect(page.text.match(/<h1>/g)).toHaveLength(1)
  }
  expect(again.status).toBe(412)
})

test('GET and POST /f/{id}, GET /f/{id}/thanks: stored once, then thanks', async () => {
  const of = await make()
  const email = freshEmail()
  const page = await get(`/f/${of.id}`)
  const hidden = { _version: hiddenIn(page, '_version'), _key: hiddenIn(page, '_key'), _website: '' }
  const values = { email, message: 'one\r\ntwo +&=%', size: 'two  spaces', age: '4.5', news: 'on' }
  for (let sent = 0; sent < 2; sent++) {
    const response = await post(formOf({ ...values, ...hidden }), of)
    expect([response.status, response.headers['location'], response.text]).toEqual([303, `./${of.id}/thanks`, ''])
  }
  expect(await submissionsOf(of)).toMatchObject([
    {
      values: { email, message: 'one\ntwo +&=%', size: 'two  spaces', age: 4.5, news: true },
      consents: [{ fieldId: 'news' }],
    },
  ])
  const thanks = await get(`/f/${of.id}/thanks`)
  expectPage(thanks, 200)
  expect(thanks.text).toContain('<p>Thank you.</p>')
  expect(thanks.text).not.toContain(hint)
})

test('the thank-you page of a form that asks by email says that an email comes', async () => {
  const { id: listId } = await api.create('/lists', workspace.key, { name: 'News' })
  const of = await make({ listId })
  expect((await get(`/f/${of.id}/thanks`)).text).toContain(`<p>${hint}</p>`)
  await api.call('PATCH', `/lists/${String(listId)}`, { key: workspace.key, body: { publicSignup: 'CLOSED' } })
  expect((await get(`/f/${of.id}/thanks`)).text).not.toContain(hint)
})

test('an invalid post shows errors beside the fields and keeps the values', async () => {
  const of = await make()
  const response = await post(
    formOf({ email: 'invalid', message: '\nHello', size: 'two  spaces', age: 'x', news: 'on', _key: 'k' }),
    of,
  )
  expectPage(response, 400)
  expect(response.text).toContain('<title>Please check: Contact us</title>')
  expect(response.text).toContain(
    '<a href="#f-email">Email</a>: Please enter an email address such as ada@example.com.',
  )
  expect(response.text).toMatch(
    /id="f-email" name="email" value="invalid" [^>]*aria-invalid="true" aria-describedby="problem-email"/,
  )
  expect(response.text).toContain('<p class="problem" id="problem-email">Please enter an email address')
  expect(response.text).toMatch(/<textarea id="f-message"[^>]*>\n\nHello<\/textarea>/)
  expect(response.text).toContain('<option value="two  spaces" selected>two  spaces</option>')
  expect(response.text).toMatch(/id="f-news" name="news" [^>]*checked/)
  expect(hiddenIn(response, '_key')).toBe('k')
  expect(await submissionsOf(of)).toEqual([])
})

test('a changed form is shown again with the posted values, except consents', async () => {
  const of = await make()
  const version = hiddenIn(await get(`/f/${of.id}`), '_version')
  await change(of.id, { fields: [...fields.slice(0, 4), { ...fields[4], label: 'Sell my address' }] })
  const response = await post(formOf({ email: 'ada@example.com', news: 'on', _version: version }), of)
  expectPage(response, 412)
  expect(response.text).toContain('This form has changed. Please review your answers and submit again.')
  expect(response.text).toContain('value="ada@example.com"')
  expect(response.text).toMatch(/id="f-news" name="news" +>/)
  expect(hiddenIn(response, '_version')).not.toBe(version)
  expect(await submissionsOf(of)).toEqual([])
})

test('a submission that fills the honeypot is counted as spam but not stored', async () => {
  const of = await make()
  expect(await post(formOf({ email: 'x', _website: 'https://spam.example' }), of)).toMatchObject({ status: 303 })
  const { body } = await api.call<Form>('GET', `/forms/${of.id}`, { key: workspace.key })
  expect([body.spamCount, await submissionsOf(of)]).toEqual([1, []])
})

test('the thank-you page redirects to the `redirectUrl` of the form, escaped', async () => {
  for (const [redirectUrl, href] of [
    ['https://exämple.com/日本 x', 'https://xn--exmple-cua.com/%E6%97%A5%E6%9C%AC%20x'],
    [`https://x.example/;%20script-src%20*;"'><script>`, `https://x.example/;%20script-src%20*;%22'%3E%3Cscript%3E`],
  ] as const) {
    const of = await make({ redirectUrl })
    expectPage(await get(`/f/${of.id}`), 200)
    const thanks = await get(`/f/${of.id}/thanks`)
    expectPage(thanks, 200)
    expect(thanks.headers['refresh']).toBe(`0; url=${href}`)
    expect(thanks.text).toContain(`<a href="${href.replaceAll("'", '&#39;')}">Continue</a>`)
    const { headers } = await post(formOf({ email: freshEmail() }), of)
    expect(headers['location']).toBe(`./${of.id}/thanks`)
  }
})

const refused: [string, string | Buffer, [status: number, message: RegExp]][] = [
  ['a duplicate field', 'email=a@example.com&email=b@example.com', [400, /duplicate field/]],
  ['1,001 fields', Array.from({ length: 1_001 }, (_, n) => `k${n}=1`).join('&'), [400, /more than 1,000/]],
  ['an invalid byte', 'email=a@example.com&message=%ff', [400, /not encoded in UTF-8/]],
  ['half a UTF-8 character', 'email=a@example.com&message=%e2%82', [400, /not encoded in UTF-8/]],
  ['a surrogate', 'email=a@example.com&message=%ed%a0%80', [400, /not encoded in UTF-8/]],
  ['an incomplete escape', 'email=a@example.com&message=%', [400, /not encoded in UTF-8/]],
  ['raw bytes', Buffer.from('email=a@example.com&message=\xe9', 'latin1'), [400, /not encoded in UTF-8/]],
  ['a body over the size limit', `email=a@example.com&message=${'x'.repeat(1_048_576)}`, [413, /too large/]],
]
test.each(refused)('rejects %s with a JSON error', async (_name, raw, [status, message]) => {
  expect(expectError(await post(raw), status).message).toMatch(message)
})

test('a form that cannot be submitted now is shown again, with what was filled in', async () => {
  const full = await api.signUp()
  await api.query(`update workspaces set quotas = '{"contacts": 1}' where id = '${uuidOf(Id('wsp').parse(full.id))}'`)
  await api.create('/contacts', full.key, { email: freshEmail() })
  const of = await api.create<Form>('/forms', full.key, { name: 'Contact us', fields })
  const page = await post(formOf({ email: freshEmail(), message: 'My question', news: 'on' }), of)
  expectPage(page, 409)
  for (const text of ['The form could not be sent.', 'My question</textarea>', ' checked'])
    expect(page.text).toContain(text)
})

const invalidPosts = [
  'email=a@example.com&message=%00',
  'email=a@example.com&message=%1b',
  'email=a@example.com&other=1',
  'email=a@example.com&constructor=1',
  'email=a@example.com&=1',
  'email=a@example.com&age=1e400',
  'email=a@example.com&size=M',
  `email=a@example.com&message=${'x'.repeat(20_001)}`,
  `email=${encodeURIComponent('a@example.com\r\nBcc: b@example.com')}`,
  'email[]=a@example.com',
  Array.from({ length: 1_000 }, (_, n) => `k${n}=1`).join('&'),
  'email',
  '&&',
]
test.each(invalidPosts)('"%s" shows the form with an error', async (raw) => {
  expectPage(await post(raw), 400)
})

test('stores no rejected form, and accepts no files', async () => {
  expect(await submissionsOf(form)).toEqual([])
  for (const type of ['multipart/form-data; boundary=x', 'text/plain', 'application/xml']) {
    expectError(
      await post('x', form, { headers: { ...browser, 'content-type': type } }),
      415,
      `The content type must be application/x-www-form-urlencoded, not "${type}"`,
    )
  }
  expectError(await api.call('POST', `/f/${form.id}`, { headers: browser }), 400)
})

test('a missing form is a 404 page for browsers and a JSON error for programs', async () => {
  const missing = '/f/frm_01kag7m3v9e8fs2t4w6x8y0z1b'
  for (const path of [missing, `${missing}/thanks`, '/f/nope']) {
    const page = await get(path)
    expectPage(page, 404)
    expect(page.text).toContain('This form is not available')
    expectError(await api.call('GET', path), 404, 'Form not found')
  }
})
