import { inspectLooks, launchBrowser, whyNoBrowser } from '@rapport/core/testing/browser.ts'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createList } from './public-form.ts'
import { type Stack, startStack } from './stack.ts'

describe.skipIf(whyNoBrowser())('on a phone and on a desk, light and dark, anybody can use', () => {
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

  const expectGoodLooks = async (name: string) => expect(await inspectLooks(page, name)).toEqual([])

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
