import { findAccessibilityProblems, launchBrowser, findBrowserSkipReason } from '@rapport/testing/browser/browser.ts'
import { describe, expect, test } from 'vitest'

describe.skipIf(findBrowserSkipReason())('the browser of the tests', () => {
  test('axe finds accessibility problems, also in shadow trees and under a strict CSP', async () => {
    const browser = await launchBrowser()
    const page = await browser.newPage({ bypassCSP: true })
    await page.goto(`data:text/html,<!doctype html><html lang="en"><title>A page</title>
      <meta http-equiv="content-security-policy" content="default-src 'none'; style-src 'unsafe-inline'">
      <main><h1>A page</h1><input>
      <div><template shadowrootmode="open"><p style="color: silver; background: white">Too pale</p></template></div>`)
    expect(await findAccessibilityProblems(page)).toEqual([
      expect.stringMatching(/^color-contrast \(serious\): .*Too pale.*Expected contrast ratio of 4.5:1$/),
      expect.stringMatching(/^label \(critical\): Form elements must have labels. input <input>/),
    ])
    await browser.close()
  })
})
