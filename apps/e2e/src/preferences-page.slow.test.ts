import { languages } from '@rapport/core/kernel/values/languages.ts'
import { checkAppearance, findBrowserSkipReason, launchBrowser } from '@rapport/testing/browser/browser.ts'
import { isFullRun } from '@rapport/testing/runs.ts'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readAllRows } from './all-rows.ts'
import { type Stack, startStack } from './stack.ts'

describe.skipIf(findBrowserSkipReason())('the preferences page without JavaScript:', () => {
  let stack: Stack
  let key: string
  let browser: Browser
  let shown: Page
  beforeAll(async () => {
    ;[stack, browser] = await Promise.all([startStack('postgres'), launchBrowser()])
    shown = await browser.newPage({ bypassCSP: true })
    ;({ key } = await stack.api.createWorkspace())
    const body = { name: 'Lovelace & Töchter', accentColor: '#7A1FA2', trackingWithoutConsent: 'PERSON' }
    await stack.api.call('PATCH', '/workspace', { key, body })
  })
  afterAll(async () => {
    await browser.close()
    await stack.close()
  })

  /** Puts a recipient on three new lists. Returns the id of the first one. */
  async function subscribe(email: string): Promise<string> {
    const ids: string[] = []
    for (const body of lists) {
      const { body: list } = await stack.api.call<{ id: string }>('POST', '/lists', { key, body })
      await stack.api.call('POST', `/lists/${list.id}/subscribers`, { key, body: { email, status: 'CONFIRMED' } })
      ids.push(list.id)
    }
    return ids[0] ?? ''
  }

  /** Sends a campaign that tracks opens and clicks to one recipient. Returns its id and the email. */
  async function sendNews(listId: string, subject: string) {
    const html = '<p>News! <a href="https://example.com/offer">Our offer</a></p>'
    const body = { name: 'News', subject, listId, html, trackOpens: true, trackClicks: true }
    const { id } = (await stack.api.call<{ id: string }>('POST', '/campaigns', { key, body })).body
    await stack.api.call('POST', `/campaigns/${id}/send`, { key })
    return { id, mail: await stack.inbox.waitFor((mail) => mail.subject === subject) }
  }

  const preferencesLinkIn = ({ text }: { text: string }) => /Email preferences: (\S+)/.exec(text)?.[1] ?? ''

  /** Follows the link of an email and loads its pixel, as a mail program does. */
  async function openMail({ html }: { html: string }): Promise<void> {
    const urls = [...html.matchAll(/http:[^"]+\/public\/(?:click|open)\?token=[\w.-]+/g)]
    const responses = await Promise.all(urls.map(([url]) => stack.api.call('GET', url)))
    expect(responses.map(({ status, headers }) => [status, headers.get('location')])).toEqual([
      [302, 'https://example.com/offer'],
      [200, null],
    ])
  }

  // At the gate, the default, and the language with the longest words.
  const shownIn = isFullRun ? languages : (['en', 'de'] as const)
  test.each(shownIn)('is accessible in %s, on phone and desktop, in light and dark', async (language) => {
    const page = await browser.newPage({ javaScriptEnabled: false, locale: language })
    const { mail } = await sendNews(await subscribe(`${language}@example.com`), `News in ${language}`)
    await page.goto(preferencesLinkIn(mail))
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

  test('a recipient goes from an email in the inbox to never again', async () => {
    const page = await browser.newPage({ javaScriptEnabled: false, locale: 'en' })
    const listId = await subscribe(ada)
    const [opened, yesterday] = [await sendNews(listId, 'News of Monday'), await sendNews(listId, 'News of Tuesday')]
    await openMail(opened.mail)
    const { body: stats } = await stack.api.call('GET', `/campaigns/${opened.id}/stats`, { key })
    expect(stats).toMatchObject({ opened: 1, clicked: 1 })
    await page.goto(preferencesLinkIn(yesterday.mail))
    await page.getByText('Lovelace & Töchter sends to a•••@e••••.com').waitFor()
    expect(await page.getByRole('checkbox', { checked: true }).count()).toBe(0)

    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('What you do not allow is no longer recorded').waitFor()
    const before = await readAllRows(stack)
    await openMail(yesterday.mail)
    expect(await readAllRows(stack)).toEqual(before)

    await page.getByRole('button', { name: 'Send me my data' }).click()
    await page.getByText('We are sending your data').waitFor()
    const { attachments, to } = await stack.inbox.waitFor((mail) => mail.subject === 'Your data at Lovelace & Töchter')
    const [attachment] = attachments
    expect([to, attachment?.name]).toEqual([[ada], 'personal-data.json'])
    expect(JSON.parse(attachment?.content ?? '')).toMatchObject({
      contact: { email: ada },
      trackingConsents: [{ opens: 'DENIED', clicks: 'DENIED' }],
    })

    await page.getByRole('button', { name: 'Unsubscribe: Invitations' }).click()
    await page.getByText('You will no longer receive “Invitations”').waitFor()
    await page.getByRole('button', { name: 'Unsubscribe from all newsletters' }).click()
    await page.getByText('no longer sends you any newsletters').waitFor()
    await page.close()

    const { body: later } = await stack.api.call<{ id: string }>('POST', '/lists', { key, body: { name: 'Later' } })
    const add = (email: string) =>
      stack.api.call('POST', `/lists/${later.id}/subscribers`, { key, body: { email, status: 'CONFIRMED' } })
    expect([(await add(ada)).status, (await add('grace@example.com')).status]).toEqual([409, 201])
    await sendNews(later.id, 'News of later')
    const received = stack.inbox.mails.filter((mail) => mail.to.includes(ada)).map(({ subject }) => subject)
    expect(received).toEqual(['News of Monday', 'News of Tuesday', 'Your data at Lovelace & Töchter'])
  })

  /** Shows the page again with JavaScript, because axe needs it: the page has no scripts. */
  async function expectAccessible(page: Page, name: string): Promise<void> {
    await shown.setContent(await page.content())
    expect(await checkAppearance(shown, name)).toEqual([])
  }
})

const ada = 'ada@example.com'

const lists = [
  { name: 'Monthly newsletter', description: 'What we have built, read and learned. Every first Monday.' },
  { name: 'Invitations', description: '' },
  { name: 'Veranstaltungskalender für Kundinnen und Kunden', description: 'Seminare und Führungen\nin Wien und Graz.' },
]
