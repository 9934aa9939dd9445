import {
  checkAppearance,
  findAccessibilityProblems,
  findBrowserSkipReason,
  launchBrowser,
} from '@rapport/testing/browser/browser.ts'
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

describe.skipIf(findBrowserSkipReason())('the documentation in a browser:', () => {
  let stack: Stack
  let browser: Browser
  beforeAll(async () => {
    ;[stack, browser] = await Promise.all([startStack('postgres'), launchBrowser()])
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

  test('the home page and every guide are accessible in all sizes and modes', async () => {
    const { page, problems } = await open('/', { bypassCSP: true })
    expect(await checkAppearance(page, 'home')).toEqual([])
    await page.setViewportSize({ width: 1280, height: 800 })
    await page.getByRole('link', { name: 'Guides' }).click()
    const guides = await page.evaluate<string[]>(
      "[...document.querySelectorAll('.guides a')].map((link) => link.pathname)",
    )
    expect(guides.length).toBeGreaterThan(8)
    for (const path of guides.filter((path) => !path.endsWith('/reference'))) {
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

  test('the reference obeys its policy and loads nothing from other hosts', async () => {
    const { page, problems } = await open('/docs/reference')
    await operationsOf(page)
    expect(problems).toEqual([])
    const visible = "[...document.querySelectorAll('a[href^=http]')].filter((link) => link.checkVisibility())"
    const hrefs = await page.evaluate<string[]>(`${visible}.map((link) => link.href)`)
    expect(hrefs.filter((href) => !href.startsWith(stack.api.url))).toEqual([])
    await page.close()
  })

  test('the reference fits a phone, and labels break between words only', async () => {
    const { page } = await open('/docs/reference')
    await page.setViewportSize({ width: 390, height: 800 })
    await operationsOf(page)
    expect(await page.evaluate<number>('document.documentElement.scrollWidth')).toBe(390)
    // The heading of the box with the credentials, in a row with two other labels.
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
      const found = await findAccessibilityProblems(page)
      expect(found.filter((problem) => !scalarProblems.some((known) => known.test(problem)))).toEqual([])
    }
    await page.close()
  })
})
