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
    page.on('console', (message) => void advice.push(message.text()))
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

  test('Chromium advises about a form without a user name, so that its silence counts', async () => {
    await page.setContent('<form><input type="password" autocomplete="new-password"></form>')
    await waitUntil(() => advice.length > 0, { describe: 'advice of Chromium' })
    expect(advice).toEqual([expect.stringContaining('username')])
  })

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
      await page.getByLabel('Password').fill('short')
      await page.getByRole('button').click()
      await page.getByRole('alert').waitFor()
      expect(await readUserName()).toBe(address)
    }
    await page.goto(`${stack.api.url}/forgot-password`)
    await page.getByLabel('Email').waitFor()
    // The browser logs the 4xx of each rejected password too.
    expect(advice.filter((text) => !text.includes('Failed to load resource'))).toEqual([])
  })
})
