/** A form with a field of every type, and helpers to fill it in. */
import type { Page } from 'playwright-core'
import type { Api } from './stack.ts'

export interface Form {
  id: string
  name: string
  successMessage: string
}

interface Submission {
  contactId: string
  values: Record<string, unknown>
  consents: { fieldId: string; wording: string }[]
}

export const consentWording = 'Yes, send me the monthly newsletter. I can unsubscribe at any time.'

const fields = [
  { id: 'firstName', label: 'First name', type: 'TEXT', mapsTo: 'firstName' },
  { id: 'email', label: 'Email', type: 'EMAIL', required: true, mapsTo: 'email' },
  { id: 'phone', label: 'Phone', type: 'PHONE', mapsTo: 'phone' },
  { id: 'guests', label: 'How many guests', type: 'NUMBER' },
  { id: 'day', label: 'Day of the visit', type: 'DATE' },
  { id: 'topic', label: 'What is it about?', type: 'SELECT', options: ['A question', 'An order', 'Something else'] },
  { id: 'message', label: 'Your message', type: 'TEXTAREA', required: true },
  { id: 'callback', label: 'Please call me back', type: 'CHECKBOX' },
  { id: 'news', label: consentWording, type: 'CONSENT' },
]

export async function createForm(api: Api, key: string, settings: Record<string, unknown> = {}): Promise<Form> {
  const body = { name: 'Visit us', successMessage: 'Thank you, we will write soon.', fields, ...settings }
  const created = await api.call<Form>('POST', '/forms', { key, body })
  if (created.status !== 201) throw new Error(`Form not created: ${JSON.stringify(created.body)}`)
  return created.body
}

export async function createList(api: Api, key: string): Promise<{ id: string }> {
  const created = await api.call<{ id: string }>('POST', '/lists', { key, body: { name: 'Monthly newsletter' } })
  return created.body
}

export async function readSubmissions(api: Api, key: string, form: Form): Promise<Submission[]> {
  const found = await api.call<{ data: Submission[] }>('GET', `/forms/${form.id}/submissions`, { key })
  return found.body.data
}

/** The values that `fillIn` enters, as the submission contains them. */
export const filledIn = {
  firstName: 'Ada',
  email: 'ada@example.com',
  phone: '+44 20 7946 0958',
  guests: 2.5,
  day: '2026-12-24',
  topic: 'An order',
  message: 'Hello,\nthree lines\n<b>of</b> text',
  callback: false,
  news: true,
}

/** Fills in every field except the checkbox of a hosted or embedded form. */
export async function fillIn(page: Page, changes: { email?: string } = {}): Promise<void> {
  await page.getByLabel('First name').fill(filledIn.firstName)
  await page.getByLabel('Email').fill(changes.email ?? filledIn.email)
  await page.getByLabel('Phone').fill(filledIn.phone)
  await page.getByLabel('How many guests').fill(String(filledIn.guests))
  await page.getByLabel('Day of the visit').fill(filledIn.day)
  await page.getByLabel('What is it about?').selectOption(filledIn.topic)
  await page.getByLabel('Your message').fill(filledIn.message)
  await page.getByLabel(consentWording).check()
}
