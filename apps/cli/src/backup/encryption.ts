/**
 * Encryption of backups in the age format (age-encryption.org/v1), with BACKUP_KEY as the passphrase: "age --decrypt"
 * reads the file too. The format encrypts chunks of 64 KiB with ChaCha20-Poly1305, and marks the last one. So a file of
 * any size is streamed, no unauthenticated byte is released, and a missing end is detected.
 */
import { Readable } from 'node:stream'
import type { ReadableStream } from 'node:stream/web'
import { Decrypter, Encrypter } from 'age-encryption'
import { CommandFailed } from '../command.ts'

/** The first bytes of an encrypted file. */
export const encryptedFileStart = 'age-encryption.org/v1\n'

/**
 * The cost of the key derivation with scrypt: 2^10 needs a megabyte, the default of 2^18 a quarter of a gigabyte. It
 * protects passphrases of people. BACKUP_KEY has 256 random bits, which need no protection against guessing.
 */
const scryptWorkFactor = 10

/** Encrypts a stream. The result must be read: it applies back pressure to the source. */
export async function encrypt(source: Readable, key: string): Promise<Readable> {
  const encrypter = new Encrypter()
  encrypter.setPassphrase(key)
  encrypter.setScryptWorkFactor(scryptWorkFactor)
  return fromWeb(await encrypter.encrypt(toWeb(source)))
}

/** Decrypts a stream. It fails at the first damaged chunk, or at the end if the end is missing. */
export async function* decrypt(source: Readable, key: string): AsyncGenerator<Buffer> {
  const decrypter = new Decrypter()
  decrypter.addPassphrase(key)
  const decrypted = await decrypter.decrypt(toWeb(source)).catch((error: unknown) => {
    const isWrongKey = error instanceof Error && error.message.startsWith('no identity matched')
    if (isWrongKey) throw new CommandFailed('BACKUP_KEY: the file is encrypted with another key')
    throw damaged(error)
  })
  try {
    yield* fromWeb(decrypted)
  } catch (error) {
    throw damaged(error)
  }
}

const damaged = (error: unknown) =>
  new CommandFailed(`The file is damaged or incomplete: it cannot be decrypted (${(error as Error).message})`)

// The types of the library are those of browsers.
const toWeb = (source: Readable) => Readable.toWeb(source) as globalThis.ReadableStream<Uint8Array>
const fromWeb = (stream: globalThis.ReadableStream<Uint8Array>) => Readable.fromWeb(stream as ReadableStream)
