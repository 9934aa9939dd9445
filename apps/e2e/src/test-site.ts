/** A website that embeds or frames pages of Rapport, and helpers to observe a browser page. */
import { startHttpReceiver, type HttpReceiver } from '@rapport/testing/network/receivers.ts'
import type { Page } from 'playwright-core'

export interface Site {
  /** On `localhost`, while Rapport runs on 127.0.0.1: a different site for browsers. */
  url: string
  receiver: HttpReceiver
  close(): Promise<void>
}

interface SitePage {
  /** The content of the body element. */
  body: string
  style?: string
  headers?: Record<string, string>
}

interface SiteRedirect {
  location: string
}

/** Serves the pages by their paths. All other paths return 404. */
export async function startSite(pages: Record<string, SitePage | SiteRedirect>): Promise<Site> {
  const receiver = await startHttpReceiver(({ url }) => {
    const page = pages[url]
    if (!page) return { status: 404 }
    if ('location' in page) return { status: 301, headers: { location: page.location } }
    const { body, style = '', headers } = page
    return { headers: { 'content-type': 'text/html; charset=utf-8', ...headers }, body: document(body, style) }
  })
  return { url: `http://localhost:${receiver.port}`, receiver, close: () => receiver.close() }
}

function document(body: string, style: string) {
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>A site</title>
<meta name="viewport" content="width=device-width, initial-scale=1">${style && `<style>${style}</style>`}</head><body>${body}</body></html>`
}

/** Collects the origins that the page requests, and its errors: uncaught exceptions and blocked resources. */
export function watchPage(page: Page): { origins: Set<string>; errors: string[] } {
  const [origins, errors] = [new Set<string>(), [] as string[]]
  page.on('request', (request) => origins.add(new URL(request.url()).origin))
  page.on('pageerror', (error) => errors.push(String(error)))
  page.on('console', (message) => {
    // The browser logs each 400 response, which is expected for invalid input.
    if (message.type() === 'error' && !message.text().includes('status of 400')) errors.push(message.text())
  })
  return { origins, errors }
}

/** The id of the focused element, also in a shadow tree. */
export async function readFocusedId(page: Page): Promise<unknown> {
  return page.evaluate(`(() => {
    let element = document.activeElement
    while (element?.shadowRoot?.activeElement) element = element.shadowRoot.activeElement
    return element?.id
  })()`)
}
