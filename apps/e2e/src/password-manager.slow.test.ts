import { findBrowserSkipReason, launchBrowser } from '@rapport/testing/browser/browser.ts'
import { waitUntil } from '@rapport/testing/wait.ts'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type Stack, startStack } from './stack.ts'

/** Chromium logs `[DOM]` advice about forms that password managers do not understand. */
describe.skipIf(findBrowserSkipReason())('the account pages in a browser with a password manager', () => {
  let stack: Stack
  let key: string
  let email: string
  let browser: Browser
  let page: Page
  let advice: string[]
  beforeAll(async () => {
    ;[stack, browser] = await Promise.all([startStack('postgres'), launchBrowser()])
    ;({ key, email } = await stack.api.createWorkspace())
  })
  beforeEach(async () => {
    page = await browser.newPage()
    advice = []
    page.on('console', (message) => void (message.text().startsWith('[DOM]') && advice.push(message.text())))
    return () => page.close()
  })
  afterAll(async () => {
    await browser.close()
    await stack.close()
  })

  const linkIn = async (subject: string) => {
    const { text } = await stack.inbox.waitFor((mail) => mail.subject.startsWith(subject))
    return /https?:\/\/[^\s\]]+/.exec(text)?.[0] ?? ''
  }
  const readUserName = () => page.locator('[autocomplete=username]').inputValue()

  /** Adds a form that deserves advice, and expects it for that form only: Chromium checks all forms at once. */
  async function expectNoOtherAdvice() {
    await page.evaluate(`document.body.insertAdjacentHTML('beforeend',
      '<form><input type="password" autocomplete="new-password"></form>')`)
    await waitUntil(() => advice.length > 0, { describe: 'the advice about the added form' })
    await page.evaluate('0')
    expect(advice.splice(0)).toEqual([expect.stringContaining('should have (optionally hidden) username fields')])
  }

  test('Chromium has no advice about the pages, which name the account', async () => {
    await stack.api.call('POST', '/invites', { key, body: { email: 'alan@example.com', role: 'MEMBER' } })
    await stack.api.call('POST', '/auth/forgot-password', { body: { email } })
    for (const [subject, address] of [
      ['Join Engines & Co', 'alan@example.com'],
      ['Choose a new password', email],
      ['Verify your email address', email],
    ] as const) {
      await page.goto(await linkIn(subject))
      expect(await readUserName()).toBe(address)
      await expectNoOtherAdvice()
      await page.getByLabel('Password').fill('short')
      await page.getByRole('button').click()
      await page.getByRole('alert').waitFor()
      expect(await readUserName()).toBe(address)
      await expectNoOtherAdvice()
    }
  })
})
