import { z } from 'zod'
import { Workspace } from '../workspaces/workspaces.schema.ts'
import { Email, TimestampInput, SingleLine, Timestamp } from '../kernel/validation.ts'
import { Id, RecordId } from '../kernel/ids.ts'
import { PageQuery, Sort } from '../request/paging.ts'
import { roles } from '../db/schema/index.ts'

export const User = z
  .object({
    id: RecordId('usr'),
    email: z.string(),
    name: z.string(),
    emailVerifiedAt: Timestamp.nullable().describe('When the user verified the email address'),
    createdAt: Timestamp,
  })
  .meta({ id: 'User' })
export type User = z.output<typeof User>

/** Compared exactly as typed: neither trimmed nor normalized. */
export const Password = z
  .string()
  .min(12, 'must have at least 12 characters')
  .max(128, 'must have at most 128 characters')
  .refine((password) => password.isWellFormed(), 'must be valid Unicode')
  .refine((password) => !password.includes('\u0000'), 'must not contain control characters')

export const SignupInput = z
  .strictObject({
    email: Email,
    password: Password,
    name: SingleLine(200).default(''),
    workspaceName: SingleLine(200, 1).optional(),
  })
  .meta({
    examples: [
      { email: 'ada@example.com', password: 'a long sentence that is hard to guess', workspaceName: 'Engines' },
    ],
  })
export type SignupInput = z.output<typeof SignupInput>

export const LoginInput = z
  .strictObject({
    email: SingleLine(254),
    password: z.string().max(1000, 'must have at most 1,000 characters'),
    workspaceId: Id('wsp')
      .optional()
      .describe('The workspace to log in to. Default: the workspace that the user joined first.'),
  })
  .meta({ examples: [{ email: 'ada@example.com', password: 'a long sentence that is hard to guess' }] })
export type LoginInput = z.output<typeof LoginInput>

export const ForgotPasswordInput = z.strictObject({ email: Email }).meta({ examples: [{ email: 'ada@example.com' }] })
export type ForgotPasswordInput = z.output<typeof ForgotPasswordInput>

/** A token from an email. A malformed token gets the same error as a wrong token. */
export const MailToken = z.string().max(200)

export const ResetPasswordInput = z
  .strictObject({ token: MailToken, password: Password })
  .meta({ examples: [{ token: 'rpr_…', password: 'a long sentence that is hard to guess' }] })
export type ResetPasswordInput = z.output<typeof ResetPasswordInput>

export const VerifyEmailInput = z
  .strictObject({ token: MailToken, password: LoginInput.shape.password })
  .meta({ examples: [{ token: 'eyJh…', password: 'a long sentence that is hard to guess' }] })
export type VerifyEmailInput = z.output<typeof VerifyEmailInput>

export const Session = z
  .object({
    token: z.string().meta({ description: 'Bearer token of this session (`rps_…`). Only this response contains it.' }),
    expiresAt: Timestamp,
    user: User,
    workspace: Workspace,
  })
  .meta({ id: 'Session' })
export type Session = z.output<typeof Session>

export const OpenSession = z
  .object({
    id: RecordId('ses'),
    workspaceId: RecordId('wsp'),
    current: z.boolean().describe('Whether this session made the request'),
    expiresAt: Timestamp,
    createdAt: Timestamp,
  })
  .meta({ id: 'OpenSession', description: 'An open session. Its token is returned only by the login.' })
export type OpenSession = z.output<typeof OpenSession>

export const SessionQuery = PageQuery.extend({ sort: Sort(['createdAt']) })
export type SessionQuery = z.output<typeof SessionQuery>

export const OwnWorkspace = z
  .object({ ...Workspace.shape, role: z.enum(roles).describe('Your role in the workspace') })
  .meta({ id: 'OwnWorkspace' })
export type OwnWorkspace = z.output<typeof OwnWorkspace>

export const WorkspaceQuery = PageQuery.extend({ sort: Sort(['createdAt']) })
export type WorkspaceQuery = z.output<typeof WorkspaceQuery>

/** For records that remain after their creator has left the workspace. */
export const CreatedBy = RecordId('usr')
  .nullable()
  .describe('The user who created the record, directly or with an API key. The user may no longer be a member.')

export const ApiKey = z
  .object({
    id: RecordId('key'),
    name: z.string(),
    role: z.enum(roles),
    prefix: z.string().meta({ description: 'The first characters of the key, to recognize it' }),
    createdBy: CreatedBy,
    expiresAt: Timestamp.nullable(),
    lastUsedAt: Timestamp.nullable(),
    createdAt: Timestamp,
  })
  .meta({ id: 'ApiKey' })
export type ApiKey = z.output<typeof ApiKey>

export const CreatedApiKey = z
  .object({
    ...ApiKey.shape,
    key: z.string().meta({ description: 'The key itself (`rpk_…`). Only this response contains it.' }),
  })
  .meta({ id: 'CreatedApiKey' })
export type CreatedApiKey = z.output<typeof CreatedApiKey>

export const ApiKeyInput = z
  .strictObject({
    name: SingleLine(200, 1),
    role: z.enum(['VIEWER', 'MEMBER', 'ADMIN']).default('MEMBER'),
    expiresAt: TimestampInput.refine((moment) => moment.getTime() > Date.now(), 'must be in the future')
      .nullable()
      .default(null),
  })
  .meta({ examples: [{ name: 'Website', role: 'MEMBER' }] })
export type ApiKeyInput = z.output<typeof ApiKeyInput>

export const ApiKeyQuery = PageQuery.extend({
  sort: Sort(['createdAt']),
  createdBy: Id('usr')
    .optional()
    .describe('The id of the user who created the keys. The user may no longer be a member.'),
})
export type ApiKeyQuery = z.output<typeof ApiKeyQuery>

export const Me = z
  .object({
    kind: z.enum(['user', 'apiKey']),
    role: z.enum(roles),
    user: User.nullable(),
    apiKey: ApiKey.nullable(),
    workspace: Workspace,
  })
  .meta({ id: 'Me' })
export type Me = z.output<typeof Me>
