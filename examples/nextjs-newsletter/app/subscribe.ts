'use server'

import { NotFoundError, RateLimitError, ValidationError } from '@rapport/sdk'
import { findListId, forgetListId } from '../lib/newsletter-list.ts'
import { getRapport } from '../lib/rapport.ts'

export interface SignUp {
  values: { firstName: string; email: string }
  /** True for known and unknown addresses alike. */
  isAccepted: boolean
  /** Messages by the name of their field. */
  errors: Record<string, string>
  /** The message if the request failed for a reason that is not a field. */
  failure?: string
}

/** The server action of the form. Like every server action, it can be called with any form data. */
export async function subscribe(_previous: SignUp, form: FormData): Promise<SignUp> {
  const values = { firstName: readText(form, 'firstName'), email: readText(form, 'email') }
  const accepted: SignUp = { values, isAccepted: true, errors: {} }
  // Only bots fill in the honeypot. They get the same response.
  if (readText(form, 'website') !== '') return accepted
  try {
    // Unlike `lists.addSubscriber`, this is the request of a visitor: it also works after an opt-out, and its response
    // is the same for all addresses. Without retries, as the visitor would wait up to a minute after a 429.
    await getRapport().public.subscribe(await findListId(), values, {}, { maxRetries: 0 })
    return accepted
  } catch (error) {
    return { values, isAccepted: false, ...(await describeError(error, values)) }
  }
}

async function describeError(error: unknown, values: SignUp['values']): Promise<Pick<SignUp, 'errors' | 'failure'>> {
  if (error instanceof ValidationError && error.issues.every(({ path }) => Object.hasOwn(values, path))) {
    return { errors: Object.fromEntries(error.issues.map(({ path, message }) => [path, message])) }
  }
  if (error instanceof RateLimitError) {
    return { errors: {}, failure: 'Too many people are signing up at the moment. Please try again in a minute.' }
  }
  if (error instanceof NotFoundError) await forgetListId()
  console.error(error)
  return { errors: {}, failure: 'You are not signed up yet, because of a problem on our side. Please try again later.' }
}

/** A field of a request that did not come from the form may be missing, or a file. */
function readText(form: FormData, name: string): string {
  const value = form.get(name)
  return typeof value === 'string' ? value : ''
}
