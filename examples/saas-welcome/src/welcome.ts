import { ConflictError, type Rapport } from '@rapport/sdk'
import type { User } from './users.ts'

interface Welcome {
  templateId: string
  user: User
  verifyUrl: string
}

/**
 * Sends the welcome email. The key belongs to the user: however often a program repeats the call within 24 hours, one email is
 * sent.
 * Returns whether it was accepted: nothing is sent to an address that bounced, complained, or was blocked.
 */
export async function sendWelcome(rapport: Rapport, { templateId, user, verifyUrl }: Welcome): Promise<boolean> {
  const { id, email, firstName } = user
  try {
    const to = { email, firstName }
    await rapport.emails.create({ templateId, to, data: { verifyUrl } }, { idempotencyKey: `welcome-${id}` })
    return true
  } catch (error) {
    if (error instanceof ConflictError && error.code === 'opted_out') return false
    throw error
  }
}
