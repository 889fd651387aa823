using System.Text;

namespace ProtoRpc.Tool;

/// <summary>Asks at the terminal for a secret, and does not show it.</summary>
internal static class SecretPrompt
{
    /// <summary>Asks on standard error, so that standard output has replies alone.</summary>
    /// <exception cref="OperationCanceledException">Ctrl+C.</exception>
    public static string Ask(string prompt)
    {
        // Else Ctrl+C would wait for the key that is read here.
        bool before = Console.TreatControlCAsInput;
        Console.TreatControlCAsInput = true;
        try
        {
            Console.Error.Write(prompt);
            return Read(() => Console.ReadKey(intercept: true));
        }
        finally
        {
            Console.TreatControlCAsInput = before;
            Console.Error.WriteLine();
        }
    }

    /// <summary>Reads keys up to Enter.</summary>
    internal static string Read(Func<ConsoleKeyInfo> readKey)
    {
        StringBuilder secret = new();
        while (true)
        {
            ConsoleKeyInfo key = readKey();
            switch (key)
            {
                case { Key: ConsoleKey.Enter }:
                    return secret.ToString();
                case { Key: ConsoleKey.C, Modifiers: ConsoleModifiers.Control }:
                    throw new OperationCanceledException();
                case { Key: ConsoleKey.Backspace }:
                    secret.Length = Math.Max(0, secret.Length - 1);
                    break;
                case { KeyChar: var c } when !char.IsControl(c):
                    secret.Append(c);
                    break;
            }
        }
    }
}
