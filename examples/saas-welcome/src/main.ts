/** Serves the sign-up of a product, and sends a welcome email to each user. */
import { createServer, type IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { Rapport, ValidationError } from '@rapport/sdk'
import { problemPage, refusedPage, sentPage, signUpPage, unknownPage, verifiedPage } from './pages.ts'
import { findOrCreateTemplate } from './template.ts'
import { findOrCreateUser, verifyUser } from './users.ts'
import { sendWelcome } from './welcome.ts'

const { RAPPORT_API_URL: baseUrl = 'http://localhost:3000', RAPPORT_API_KEY: apiKey, PORT: port = '4300' } = process.env
const { PUBLIC_URL: publicUrl = `http://localhost:${port}` } = process.env
if (!apiKey) throw new Error('RAPPORT_API_KEY: is required. "npx --yes pnpm start" writes it to .rapport/local.env.')

const rapport = new Rapport({ baseUrl, apiKey })
const templateId = await findOrCreateTemplate(rapport)

type Page = [status: number, html: string]

async function signUp(request: IncomingMessage): Promise<Page> {
  const form = new URLSearchParams(await text(request))
  const user = findOrCreateUser({ email: form.get('email') ?? '', firstName: form.get('firstName') ?? '' })
  const verifyUrl = `${publicUrl}/verify?token=${user.verifyToken}`
  const isAccepted = await sendWelcome(rapport, { templateId, user, verifyUrl })
  return isAccepted ? [200, sentPage] : [409, refusedPage]
}

async function respond(request: IncomingMessage): Promise<Page> {
  const { pathname, searchParams } = new URL(request.url ?? '/', publicUrl)
  if (request.method === 'POST' && pathname === '/sign-up') return await signUp(request)
  if (pathname === '/') return [200, signUpPage]
  const user = pathname === '/verify' && verifyUser(searchParams.get('token') ?? '')
  return user ? [200, verifiedPage] : [404, unknownPage]
}

function toProblem(error: unknown): Page {
  console.error(error)
  return [error instanceof ValidationError ? 400 : 500, problemPage]
}

createServer((request, response) => {
  void respond(request)
    .catch(toProblem)
    .then(([status, html]) => response.writeHead(status, { 'content-type': 'text/html; charset=utf-8' }).end(html))
}).listen(Number(port), 'localhost', () => console.log(`The sign-up is at http://localhost:${port}/`))
