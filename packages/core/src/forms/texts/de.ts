import type { FormTexts } from './en.ts'

export const de: FormTexts = {
  thanks: 'Vielen Dank.',
  emptyBox: 'Bitte setzen Sie hier ein Häkchen.',
  empty: 'Bitte füllen Sie dieses Feld aus.',
  line: (maxLength) => `Bitte geben Sie eine einzelne Zeile mit höchstens ${maxLength} Zeichen ein.`,
  text: (maxLength) => `Bitte geben Sie höchstens ${maxLength} Zeichen ein.`,
  email: 'Bitte geben Sie eine E-Mail-Adresse ein, zum Beispiel ada@example.com.',
  phone: 'Bitte geben Sie eine Telefonnummer ein, zum Beispiel +44 20 7946 0958.',
  number: 'Bitte geben Sie eine Zahl mit höchstens 15 Ziffern ein.',
  date: 'Bitte geben Sie ein Datum in dieser Form ein: 2026-11-21.',
  option: 'Bitte wählen Sie eine der Optionen aus.',
  box: 'Bitte setzen oder entfernen Sie das Häkchen.',
  tooLarge: 'Bitte kürzen Sie Ihre Angaben. Zusammen dürfen sie höchstens etwa 32.000 Zeichen lang sein.',
}
