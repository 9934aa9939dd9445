import type { MailTexts } from './en.ts'

export const de: MailTexts = {
  confirmation: {
    title: (list) => `Bitte bestätigen Sie Ihre Anmeldung: ${list}`,
    text: (sender, list, address) => `Bitte bestätigen Sie, dass ${sender} Ihnen „${list}“ an ${address} senden darf.`,
    button: 'Anmeldung bestätigen',
    small:
      'Der Link ist sieben Tage lang gültig. Wenn Sie sich nicht angemeldet haben, ignorieren Sie diese E-Mail: Ohne Ihre Bestätigung werden Sie nicht angemeldet.',
  },
  tracking: {
    opens: 'wann Sie die E-Mails öffnen',
    clicks: 'auf welche Links in den E-Mails Sie klicken',
    opensAndClicks: 'wann Sie die E-Mails öffnen und auf welche Links darin Sie klicken',
    title: (sender) => `Bitte bestätigen Sie, was ${sender} erfassen darf`,
    text: (sender, what) => `Bitte bestätigen Sie, dass ${sender} erfassen darf, ${what}.`,
    button: 'Bestätigen',
    small:
      'Der Link ist sieben Tage lang gültig. Wenn Sie dies nicht angefordert haben, ignorieren Sie diese E-Mail: Dann wird nichts erfasst.',
  },
  personalData: {
    title: (sender) => `Ihre Daten bei ${sender}`,
    attached: (sender) =>
      `Die angehängte Datei enthält alles, was ${sender} über Sie gespeichert hat. Es ist eine JSON-Datei, die Sie mit jedem Texteditor öffnen können.`,
    tooLarge: (sender) =>
      `Was ${sender} über Sie gespeichert hat, ist zu groß für eine E-Mail. Bitte antworten Sie auf diese E-Mail, um es auf anderem Weg zu erhalten.`,
    small:
      'Sie erhalten diese E-Mail, weil sie auf der Seite mit Ihren Einstellungen angefordert wurde. Sie wurde nur an Ihre Adresse gesendet.',
  },
  invite: {
    title: (workspace) => `Einladung zu ${workspace}`,
    text: (workspace) => `Sie wurden in den Arbeitsbereich „${workspace}“ eingeladen.`,
    button: 'Einladung annehmen',
    small:
      'Der Link ist sieben Tage lang gültig und funktioniert einmal. Wenn Sie diese Einladung nicht erwartet haben, können Sie die E-Mail ignorieren.',
  },
  passwordReset: {
    title: 'Neues Passwort wählen',
    text: (address) => `Für ${address} wurde ein neues Passwort angefordert.`,
    warning:
      'Diese Adresse wurde nie bestätigt. Vielleicht hat jemand anderes das Konto angelegt. Zu Ihrer Sicherheit widerruft ein neues Passwort deshalb auch die API-Schlüssel und Einladungen, die das Konto erstellt hat, und schaltet die Webhooks seiner Arbeitsbereiche ab. Bitte prüfen Sie danach die Mitglieder dieser Arbeitsbereiche.',
    button: 'Neues Passwort wählen',
    small:
      'Der Link ist eine Stunde lang gültig und funktioniert einmal. Wenn Sie ihn nicht angefordert haben, können Sie diese E-Mail ignorieren: Ihr Passwort bleibt unverändert.',
  },
  verification: {
    title: 'Bitte bestätigen Sie Ihre E-Mail-Adresse',
    text: (host, address) => `Bei ${host} wurde ein Konto für ${address} angelegt.`,
    request: 'Bitte bestätigen Sie, dass diese E-Mail-Adresse Ihnen gehört.',
    button: 'E-Mail-Adresse bestätigen',
    small:
      'Der Link ist sieben Tage lang gültig; Sie brauchen dafür Ihr Passwort. Wenn Sie dieses Konto nicht angelegt haben, können Sie diese E-Mail ignorieren oder das Passwort zurücksetzen, um das Konto zu übernehmen.',
  },
  footer: {
    reason: (list) => `Sie erhalten diese E-Mail, weil Sie sich für ${list} angemeldet haben.`,
    unsubscribe: 'Abmelden',
    preferences: 'Einstellungen',
  },
}
