import { checkAppearance, launchBrowser, findBrowserSkipReason } from '@rapport/testing/browser/browser.ts'
import { isFullRun } from '@rapport/testing/runs.ts'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createForm, createList, fillIn, type Form } from './public-form.ts'
import { startSite } from './test-site.ts'
import { type Stack, startStack } from './stack.ts'

describe.skipIf(findBrowserSkipReason())('accessible on phone and desktop, in light and dark mode:', () => {
  let stack: Stack
  let key: string
  let browser: Browser
  let page: Page
  let form: Form
  beforeAll(async () => {
    ;[stack, browser] = await Promise.all([startStack('postgres'), launchBrowser()])
    ;({ key } = await stack.api.createWorkspace())
  })
  beforeEach(async () => {
    page = await browser.newPage({ bypassCSP: true })
    form = await createForm(stack.api, key)
    return () => page.close()
  })
  afterAll(async () => {
    await browser.close()
    await stack.close()
  })

  const send = () => page.getByRole('button', { name: 'Send' }).click()
  const change = (body: object) => stack.api.call('PATCH', `/forms/${form.id}`, { key, body })
  const expectAccessible = async (name: string) => expect(await checkAppearance(page, name)).toEqual([])

  /** Enters values that the browser accepts and the form rejects. Its labels are the same in all languages. */
  async function enterMistakes() {
    await page.getByLabel('Email').fill('ada@localhost')
    await page.getByLabel('Phone').fill('please write')
    await page.getByLabel('Your message').fill(' ')
  }

  async function makeMistakes() {
    await fillIn(page)
    await enterMistakes()
    await send()
    await page.locator('form .problem').getByText('Please fill out this field.').waitFor()
  }

  test('the hosted page of a form', async () => {
    const address = `${stack.api.url}/f/${form.id}`
    await page.goto(address)
    await expectAccessible('form')
    await makeMistakes()
    await expectAccessible('form with mistakes')

    await change({ name: 'Come and visit us' })
    await fillIn(page)
    await send()
    await page.getByText('This form has changed.').waitFor()
    await expectAccessible('form that has changed')
    await send()
    await page.getByText(form.successMessage).waitFor()
    await expectAccessible('form sent')

    await change({ redirectUrl: 'http://localhost:9/unreachable' })
    await page.route('**/unreachable', (route) => route.abort('aborted'))
    await page.goto(`${address}/thanks`)
    await page.getByRole('link', { name: 'Continue' }).waitFor()
    await expectAccessible('form sent, leading on')

    await change({ enabled: false })
    await page.goto(address)
    await page.getByRole('heading', { name: 'This form is not available' }).waitFor()
    await expectAccessible('form closed')
  })

  test('the hosted page of a form with the branding of the workspace', async () => {
    const branding = { logoUrl: 'https://images.example/logo.svg', accentColor: '#7a1fa2' }
    await stack.api.call('PATCH', '/workspace', { key, body: branding })
    const logo = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 240 60"><circle cx="30" cy="30" r="24" fill="#7a1fa2"/>
      <text x="64" y="41" font-family="sans-serif" font-size="30" fill="#222">Engines</text></svg>`
    await page.route('https://images.example/**', (route) =>
      route.fulfill({ contentType: 'image/svg+xml', body: logo }),
    )
    await page.goto(`${stack.api.url}/f/${form.id}`)
    await page.getByRole('img', { name: 'Engines & Co' }).waitFor()
    await expectAccessible('form with branding')
    await makeMistakes()
    await expectAccessible('form with branding and mistakes')

    await page.unroute('https://images.example/**')
    await page.route('https://images.example/**', (route) => route.abort())
    await page.goto(`${stack.api.url}/f/${form.id}`)
    await expectAccessible('form with a logo that cannot be loaded')
    await stack.api.call('PATCH', '/workspace', { key, body: { logoUrl: null, accentColor: '#000000' } })
    await page.goto(`${stack.api.url}/f/${form.id}`)
    await expectAccessible('form with a black accent color')
    await stack.api.call('PATCH', '/workspace', { key, body: { accentColor: null } })
  })

  test('a form that is embedded in another website', async () => {
    const tags = `<script src="${stack.api.url}/embed/form.js"></script><rapport-form form-id="${form.id}"></rapport-form>`
    const site = await startSite({
      '/': {
        body: `<main><h1>Our garden</h1><p>Tell us when you would like to come.</p>${tags}</main>`,
        style:
          ':root { color-scheme: light dark } body { font: 16px/1.5 Georgia, serif } main { max-width: 34em; margin: auto }',
      },
    })
    await page.goto(site.url)
    await page.getByLabel('Email').waitFor()
    await expectAccessible('embed')
    await makeMistakes()
    await expectAccessible('embed with mistakes')
    await fillIn(page)
    await page.route('**/submit*', (route) => route.abort())
    await send()
    await page.getByText('The form could not be sent.').waitFor()
    await expectAccessible('embed not sent')
    await page.unroute('**/submit*')
    await send()
    await page.getByText(form.successMessage).waitFor()
    await expectAccessible('embed sent')
    await change({ enabled: false })
    await page.reload()
    await page.getByText('This form is not available').waitFor()
    await expectAccessible('embed closed')
    await site.close()
  })

  // At the gate, that with the longest words.
  test.each(isFullRun ? ['de', 'fr', 'es', 'it', 'pt'] : ['de'])(
    'in %s: a form with mistakes, a subscription and its mail',
    async (language) => {
      const expectAccessible = async (name: string, shown?: 'mail') =>
        expect(await checkAppearance(page, `${name}, ${language}`, shown)).toEqual([])

      const { id: listId } = await createList(stack.api, key)
      await page.goto(`${stack.api.url}/f/${form.id}?lang=${language}`)
      await enterMistakes()
      await page.locator('main button').click()
      await page.getByRole('alert').waitFor()
      await expectAccessible('form with mistakes')

      const email = `${language}@example.com`
      await stack.api.call('POST', `/public/lists/${listId}/subscribe?lang=${language}`, { body: { email } })
      const { html, text } = await stack.inbox.waitFor(({ to }) => to.includes(email))
      await page.goto('about:blank')
      await page.setContent(html)
      await expectAccessible('mail, confirmation', 'mail')
      await page.goto(/https?:\/\/[^\s\]]+/.exec(text)?.[0] ?? '')
      expect(await page.locator('html').getAttribute('lang')).toBe(language)
      await expectAccessible('confirm')
      await page.getByRole('button').click()
      await page.getByRole('link').waitFor()
      await expectAccessible('confirmed')
      await page.getByRole('link').click()
      await page.getByRole('button').click()
      await page.locator('button.secondary').waitFor()
      await expectAccessible('unsubscribed')
      await page.goto(`${stack.api.url}/forgot-password?lang=${language}`)
      await expectAccessible('forgot password')
    },
  )

  test('in the language of the website around it: an embedded form', async () => {
    const script = `<script src="${stack.api.url}/embed/form.js"></script>`
    const site = await startSite({
      '/': { body: `${script}<div lang="de-CH"><rapport-form form-id="${form.id}"></rapport-form></div>` },
    })
    await page.goto(site.url)
    await page.getByRole('button', { name: 'Absenden' }).waitFor()
    await enterMistakes()
    await page.getByRole('button', { name: 'Absenden' }).click()
    await page.locator('p.problem').getByText('Bitte füllen Sie dieses Feld aus.').first().waitFor()
    expect(await page.locator('rapport-form form').getAttribute('lang')).toBe('de-CH')
    await site.close()
  })
})
