import {
  checkAppearance,
  findAccessibilityProblems,
  findBrowserSkipReason,
  launchBrowser,
} from '@rapport/testing/browser/browser.ts'
import { isFullRun } from '@rapport/testing/runs.ts'
import { waitUntil } from '@rapport/testing/wait.ts'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Stack, startStack } from './stack.ts'

/** Violations inside Scalar's own controls, which its configuration cannot change. */
const scalarProblems = [
  /^button-name \(critical\).* class="group\/copy-button/, // The copy button of a code example has only an icon.
  /^target-size \(serious\).* class="absolute top-\[1lh\]/, // The button that opens a section is smaller than 24 px.
  /^scrollable-region-focusable \(serious\).* class="endpoints"/, // The list of operations scrolls.
  /\((moderate|minor)\)/, // Scalar adds landmarks to the page.
]

const dashboardPassword = 'for tests only'

describe.skipIf(findBrowserSkipReason())('in a browser:', () => {
  let stack: Stack
  let browser: Browser
  beforeAll(async () => {
    const environment = { DASHBOARD_PASSWORD: dashboardPassword }
    ;[stack, browser] = await Promise.all([startStack('postgres', environment, { worker: 'none' }), launchBrowser()])
  })
  afterAll(async () => {
    await browser.close()
    await stack.close()
  })

  /** Opens a page and collects errors of the console, such as violations of its policy, and requests to other hosts. */
  async function open(
    path: string,
    options: { bypassCSP?: boolean } = {},
  ): Promise<{ page: Page; problems: string[] }> {
    const page = await browser.newPage(options)
    const problems: string[] = []
    page.on('console', (message) => message.type() === 'error' && problems.push(message.text()))
    page.on('pageerror', (error) => problems.push(error.message))
    page.on('request', (request) => {
      const url = request.url()
      if (!url.startsWith(`${stack.api.url}/`) && !url.startsWith('data:')) problems.push(url)
    })
    await page.goto(`${stack.api.url}${path}`)
    return { page, problems }
  }

  /** Waits until the operations are rendered. */
  const operationsOf = (page: Page) => page.getByText('/auth/signup', { exact: true }).first().waitFor()

  test('the home page and the guides are accessible in all sizes and modes', async () => {
    const { page, problems } = await open('/', { bypassCSP: true })
    expect(await checkAppearance(page, 'home')).toEqual([])
    await page.setViewportSize({ width: 1280, height: 800 })
    await page.getByRole('link', { name: 'Guides' }).click()
    const guides = await page.evaluate<string[]>(
      "[...document.querySelectorAll('.guides a')].map((link) => link.pathname)",
    )
    expect(guides.length).toBeGreaterThan(8)
    // All have one layout.
    const checked = guides.filter((path, index) => !path.endsWith('/reference') && (isFullRun || index % 16 === 0))
    for (const path of checked) {
      await page.goto(`${stack.api.url}${path}`)
      expect(await checkAppearance(page, `guide ${path}`)).toEqual([])
    }
    expect(problems.filter((problem) => !problem.includes('404'))).toEqual([])
    await page.close()
  })

  test('a guide obeys its policy, and its style is loaded', async () => {
    const { page, problems } = await open('/docs/errors')
    expect(await page.evaluate<string>("getComputedStyle(document.querySelector('.bar')).position")).toBe('sticky')
    expect(problems).toEqual([])
    await page.close()
  })

  test('the reference obeys its policy, loads nothing from other hosts, and fits a phone', async () => {
    const { page, problems } = await open('/docs/reference')
    await operationsOf(page)
    expect(problems).toEqual([])
    const visible = "[...document.querySelectorAll('a[href^=http]')].filter((link) => link.checkVisibility())"
    const hrefs = await page.evaluate<string[]>(`${visible}.map((link) => link.href)`)
    expect(hrefs.filter((href) => !href.startsWith(stack.api.url))).toEqual([])
    await page.setViewportSize({ width: 390, height: 800 })
    await waitUntil(() => page.evaluate<boolean>('document.documentElement.scrollWidth === 390'), {
      describe: 'the page is as wide as the screen',
    })
    // Labels break between words only: the heading of the credentials, in a row with two other labels, has one line.
    const countLines = `(() => {
      const heading = "//button//h2//text()[normalize-space() = 'Authentication']"
      const range = document.createRange()
      range.selectNode(document.evaluate(heading, document, null, XPathResult.FIRST_ORDERED_NODE_TYPE).singleNodeValue)
      return range.getClientRects().length
    })()`
    expect(await page.evaluate<number>(countLines)).toBe(1)
    await page.close()
  })

  test('the reference is accessible, except for controls of Scalar', async () => {
    const { page } = await open('/docs/reference', { bypassCSP: true })
    await operationsOf(page)
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      const found = await findAccessibilityProblems(page, { isOnlyAppearance: colorScheme === 'dark' })
      expect(found.filter((problem) => !scalarProblems.some((known) => known.test(problem)))).toEqual([])
    }
    await page.close()
  })

  test('the queue dashboard works under its policy, which blocks only foreign fonts', async () => {
    const httpCredentials = { username: 'admin', password: dashboardPassword }
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

  test('axe finds accessibility problems, also in shadow trees and under a strict CSP', async () => {
    const page = await browser.newPage({ bypassCSP: true })
    await page.goto(`data:text/html,<!doctype html><html lang="en"><title>A page</title>
      <meta http-equiv="content-security-policy" content="default-src 'none'; style-src 'unsafe-inline'">
      <main><h1>A page</h1><input>
      <div><template shadowrootmode="open"><p style="color: silver; background: white">Too pale</p></template></div>`)
    expect(await findAccessibilityProblems(page)).toEqual([
      expect.stringMatching(/^color-contrast \(serious\): .*Too pale.*Expected contrast ratio of 4.5:1$/),
      expect.stringMatching(/^label \(critical\): Form elements must have labels. input <input>/),
    ])
    await page.close()
  })
})
