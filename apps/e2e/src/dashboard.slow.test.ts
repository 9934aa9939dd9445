import { findBrowserSkipReason, launchBrowser } from '@rapport/testing/browser/browser.ts'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Stack, startStack } from './stack.ts'

describe.skipIf(findBrowserSkipReason())('the queue dashboard in a browser', () => {
  let stack: Stack
  let browser: Browser
  beforeAll(async () => {
    ;[stack, browser] = await Promise.all([startStack('postgres'), launchBrowser()])
  })
  afterAll(async () => {
    await browser.close()
    await stack.close()
  })

  test('works under its policy, which blocks only the fonts of another site', async () => {
    const httpCredentials = { username: 'admin', password: 'for tests only' }
    const page = await browser.newPage({ httpCredentials })
    const problems: string[] = []
    page.on('console', (message) => message.type() === 'error' && problems.push(message.text()))
    page.on('pageerror', (error) => problems.push(error.message))
    await page.goto(`${stack.api.url}/queues/queue/mail`)
    await page.getByRole('link', { name: 'webhooks' }).first().click()
    await page.waitForURL('**/queues/queue/webhooks**')
    await page.getByRole('heading', { name: 'webhooks' }).or(page.getByText('No Jobs')).first().waitFor()
    expect(problems.filter((problem) => !problem.includes('https://fonts.googleapis.com/'))).toEqual([])
    await page.close()
  })
})
