import { languages } from '@rapport/core/kernel/values/languages.ts'
import { checkAppearance, findBrowserSkipReason, launchBrowser } from '@rapport/testing/browser/browser.ts'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Stack, startStack } from './stack.ts'

describe.skipIf(findBrowserSkipReason())('the preferences page without JavaScript:', () => {
  let stack: Stack
  let key: string
  let browser: Browser
  beforeAll(async () => {
    ;[stack, browser] = await Promise.all([startStack('postgres'), launchBrowser()])
    ;({ key } = await stack.api.createWorkspace())
    await stack.api.call('PATCH', '/workspace', { key, body: { name: 'Lovelace & Töchter', accentColor: '#7A1FA2' } })
  })
  afterAll(async () => {
    await browser.close()
    await stack.close()
  })

  /** Sends a campaign to one recipient, who is on three lists, and returns the link to the preferences in it. */
  async function mailPreferencesLink(email: string): Promise<string> {
    const ids: string[] = []
    for (const body of lists) {
      const { body: list } = await stack.api.call<{ id: string }>('POST', '/lists', { key, body })
      await stack.api.call('POST', `/lists/${list.id}/subscribers`, { key, body: { email, status: 'CONFIRMED' } })
      ids.push(list.id)
    }
    const campaign = await stack.api.call<{ id: string }>('POST', '/campaigns', {
      key,
      body: { name: 'News', subject: `News for ${email}`, listId: ids[0] },
    })
    await stack.api.call('POST', `/campaigns/${campaign.body.id}/send`, { key })
    const { text } = await stack.inbox.waitFor((mail) => mail.subject === `News for ${email}`)
    return /Preferences: (\S+)/.exec(text)?.[1] ?? ''
  }

  test.each(languages)('is accessible in %s, on phone and desktop, in light and dark', async (language) => {
    const page = await browser.newPage({ javaScriptEnabled: false, locale: language })
    await page.goto(await mailPreferencesLink(`${language}@example.com`))
    expect(await page.getAttribute('html', 'lang')).toBe(language)
    await expectAccessible(page, `preferences, ${language}`)
    await page.locator('button[name=leave]').first().click()
    await page.getByRole('status').waitFor()
    await expectAccessible(page, `preferences after leaving a list, ${language}`)
    await page.locator('button[name=stop]').click()
    await page.locator('button[name=stop]').waitFor({ state: 'detached' })
    await expectAccessible(page, `preferences without any emails, ${language}`)
    await page.close()
  })

  /** Shows the page again with JavaScript, because axe needs it: the page has no scripts. */
  async function expectAccessible(page: Page, name: string): Promise<void> {
    const shown = await browser.newPage({ bypassCSP: true })
    await shown.setContent(await page.content())
    expect(await checkAppearance(shown, name)).toEqual([])
    await shown.close()
  }
})

const lists = [
  { name: 'Monthly newsletter', description: 'What we have built, read and learned. Every first Monday.' },
  { name: 'Invitations', description: '' },
  { name: 'Veranstaltungskalender für Kundinnen und Kunden', description: 'Seminare und Führungen\nin Wien und Graz.' },
]
