import { checkAppearance, launchBrowser, findBrowserSkipReason } from '@rapport/testing/browser/browser.ts'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createList } from './public-form.ts'
import { type Stack, startStack } from './stack.ts'

describe.skipIf(findBrowserSkipReason())('on a phone and on a desk, light and dark, anybody can use', () => {
  let stack: Stack
  let key: string
  let browser: Browser
  let page: Page
  beforeAll(async () => {
    ;[stack, browser] = await Promise.all([startStack('postgres'), launchBrowser()])
    ;({ key } = await stack.api.createWorkspace())
  })
  beforeEach(async () => {
    page = await browser.newPage({ bypassCSP: true })
    return () => page.close()
  })
  afterAll(async () => {
    await browser.close()
    await stack.close()
  })

  const expectGoodLooks = async (name: string) => expect(await checkAppearance(page, name)).toEqual([])

  test('a mail from a list, and the pages behind its links', async () => {
    const list = await createList(stack.api, key)
    await stack.api.call('POST', `/public/lists/${list.id}/subscribe`, { body: { email: 'ada@example.com' } })
    await readAndFollow('Confirm your subscription')
    await expectGoodLooks('confirm')
    await page.getByRole('button').click()
    await page.getByRole('heading', { name: 'You are subscribed' }).waitFor()
    await expectGoodLooks('confirmed')
    await page.goto(`${stack.api.url}/public/subscriptions/confirm?token=broken`)
    await expectGoodLooks('confirm, broken link')

    const campaign = await stack.api.call<{ id: string }>('POST', '/campaigns', {
      key,
      body: { name: 'News', subject: 'The news', listId: list.id, html: newsletter },
    })
    await stack.api.call('POST', `/campaigns/${campaign.body.id}/send`, { key })
    await readAndFollow('The news')
    await expectGoodLooks('unsubscribe')
    await page.getByRole('button').click()
    await page.getByRole('heading', { name: 'You are unsubscribed' }).waitFor()
    await expectGoodLooks('unsubscribed')
    await page.goto(`${stack.api.url}/public/unsubscribe?token=broken`)
    await page.getByText('click the link in the mail itself').waitFor()
    await expectGoodLooks('unsubscribe, broken link')
  })

  test('an invite, a forgotten password, and the pages behind them', async () => {
    await stack.api.call('POST', '/invites', { key, body: { email: 'alan@example.com', role: 'MEMBER' } })
    await readAndFollow('Join Engines & Co')
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
    await readAndFollow('Choose a new password')
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

  test('the address of a new account, and the page behind it', async () => {
    await readAndFollow('Confirm your address')
    await expectGoodLooks('verify')
    await page.getByLabel('Password').fill('not the password at all')
    await page.getByRole('button').click()
    await page.getByText('The password is wrong').waitFor()
    await expectGoodLooks('verify with a mistake')
    await page.getByLabel('Password').fill('a long sentence nobody knows')
    await page.getByRole('button').click()
    await page.getByRole('heading', { name: 'Your address is confirmed' }).waitFor()
    await expectGoodLooks('verified')
  })

  /** Looks at a mail as a mail program shows it, and goes where it leads. */
  async function readAndFollow(subject: string): Promise<void> {
    const { html, text } = await stack.inbox.waitFor((mail) => mail.subject.startsWith(subject))
    await page.goto('about:blank')
    await page.setContent(html)
    expect(await checkAppearance(page, `mail, ${subject}`, 'mail')).toEqual([])
    await page.goto(/https?:\/\/[^\s\]]+/.exec(text)?.[0] ?? '')
  }
})

/** As somebody writes one who leaves colours to the reader. The footer is added to it. */
const newsletter = `<!doctype html><html lang="en">
<head><meta name="color-scheme" content="light dark"><title>The news</title></head>
<body><h1>The news</h1><p>All is well.</p></body></html>`
