import { inspectLooks, launchBrowser, whyNoBrowser } from '@rapport/core/testing/browser.ts'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createForm, createList, fillIn, type Form } from './public-form.ts'
import { startSite } from './sites.ts'
import { type Stack, startStack } from './stack.ts'

describe.skipIf(whyNoBrowser())('on a phone and on a desk, light and dark, anybody can use', () => {
  let stack: Stack
  let key: string
  let browser: Browser
  let page: Page
  let form: Form
  beforeAll(async () => {
    ;[stack, browser] = await Promise.all([startStack('postgres'), launchBrowser()])
    ;({ key } = await stack.api.createWorkspace())
  })
  beforeEach(async () => {
    page = await browser.newPage({ bypassCSP: true })
    form = await createForm(stack.api, key)
    return () => page.close()
  })
  afterAll(async () => {
    await browser.close()
    await stack.close()
  })

  const send = () => page.getByRole('button', { name: 'Send' }).click()
  const change = (body: object) => stack.api.call('PATCH', `/forms/${form.id}`, { key, body })
  const expectGoodLooks = async (name: string) => expect(await inspectLooks(page, name)).toEqual([])

  /** What a browser lets through and the form does not. */
  async function makeMistakes() {
    await fillIn(page, { email: 'ada@localhost' })
    await page.getByLabel('Phone').fill('please write')
    await page.getByLabel('Your message').fill(' ')
    await send()
    await page.locator('form').getByText('Please fill this in.').waitFor()
  }

  test('the page of a form', async () => {
    const address = `${stack.api.url}/f/${form.id}`
    await page.goto(address)
    await expectGoodLooks('form')
    await makeMistakes()
    await expectGoodLooks('form with mistakes')

    await change({ name: 'Come and visit us' })
    await fillIn(page)
    await send()
    await page.getByText('The form has changed.').waitFor()
    await expectGoodLooks('form that has changed')
    await send()
    await page.getByText(form.successMessage).waitFor()
    await expectGoodLooks('form sent')

    await change({ redirectUrl: 'http://localhost:9/unreachable' })
    await page.route('**/unreachable', (route) => route.abort('aborted'))
    await page.goto(`${address}/thanks`)
    await page.getByRole('link', { name: 'Continue' }).waitFor()
    await expectGoodLooks('form sent, leading on')

    await change({ enabled: false })
    await page.goto(address)
    await page.getByRole('heading', { name: 'This form is not here' }).waitFor()
    await expectGoodLooks('form closed')
  })

  test('a form on somebody else’s page', async () => {
    const tags = `<script src="${stack.api.url}/embed/form.js"></script><rapport-form form-id="${form.id}"></rapport-form>`
    const site = await startSite({
      '/': {
        body: `<main><h1>Our garden</h1><p>Tell us when you would like to come.</p>${tags}</main>`,
        style:
          ':root { color-scheme: light dark } body { font: 16px/1.5 Georgia, serif } main { max-width: 34em; margin: auto }',
      },
    })
    await page.goto(site.url)
    await page.getByLabel('Email').waitFor()
    await expectGoodLooks('embed')
    await makeMistakes()
    await expectGoodLooks('embed with mistakes')
    await fillIn(page)
    await page.route('**/submit', (route) => route.abort())
    await send()
    await page.getByText('This could not be sent.').waitFor()
    await expectGoodLooks('embed not sent')
    await page.unroute('**/submit')
    await send()
    await page.getByText(form.successMessage).waitFor()
    await expectGoodLooks('embed sent')
    await change({ enabled: false })
    await page.reload()
    await page.getByText('This form is not available').waitFor()
    await expectGoodLooks('embed closed')
    await site.close()
  })

  test('the pages behind the links of a mail', async () => {
    const list = await createList(stack.api, key)
    await stack.api.call('POST', `/public/lists/${list.id}/subscribe`, { body: { email: 'ada@example.com' } })
    await page.goto(await linkIn('Confirm your subscription'))
    await expectGoodLooks('confirm')
    await page.getByRole('button').click()
    await page.getByRole('heading', { name: 'You are subscribed' }).waitFor()
    await expectGoodLooks('confirmed')
    await page.goto(`${stack.api.url}/public/subscriptions/confirm?token=broken`)
    await expectGoodLooks('confirm, broken link')

    const campaign = await stack.api.call<{ id: string }>('POST', '/campaigns', {
      key,
      body: { name: 'News', subject: 'The news', listId: list.id },
    })
    await stack.api.call('POST', `/campaigns/${campaign.body.id}/send`, { key })
    await page.goto(await linkIn('The news'))
    await expectGoodLooks('unsubscribe')
    await page.getByRole('button').click()
    await page.getByRole('heading', { name: 'You are unsubscribed' }).waitFor()
    await expectGoodLooks('unsubscribed')
    await page.goto(`${stack.api.url}/public/unsubscribe?token=broken`)
    await page.getByText('click the link in the mail itself').waitFor()
    await expectGoodLooks('unsubscribe, broken link')
  })

  test('the pages behind an invite and a forgotten password', async () => {
    await stack.api.call('POST', '/invites', { key, body: { email: 'alan@example.com', role: 'MEMBER' } })
    await page.goto(await linkIn('Join Engines & Co'))
    await expectGoodLooks('invite')
    await page.getByLabel('Password').fill('too short')
    await page.getByRole('button').click()
    await page.getByText('The password must have at least 12 characters.').waitFor()
    await expectGoodLooks('invite with a mistake')
    await page.getByLabel('Password').fill('a long sentence nobody knows')
    await page.getByRole('button').click()
    await page.getByRole('heading', { name: 'Welcome' }).waitFor()
    await expectGoodLooks('invite accepted')

    await stack.api.call('POST', '/auth/forgot-password', { body: { email: 'alan@example.com' } })
    await page.goto(await linkIn('Choose a new password'))
    await expectGoodLooks('reset')
    await page.getByLabel('Password').fill('another sentence nobody knows')
    await page.getByRole('button').click()
    await page.getByRole('heading', { name: 'Your password is set' }).waitFor()
    await expectGoodLooks('reset done')
    await page.goto(`${stack.api.url}/reset-password?token=broken`)
    await page.getByLabel('Password').fill('another sentence nobody knows')
    await page.getByRole('button').click()
    await page.getByRole('heading', { name: 'This link does not work' }).waitFor()
    await expectGoodLooks('reset, broken link')
  })

  async function linkIn(subject: string): Promise<string> {
    const { text } = await stack.inbox.waitFor((mail) => mail.subject.startsWith(subject))
    return /https?:\/\/[^\s\]]+/.exec(text)?.[0] ?? ''
  }
})
