namespace ProtoRpc.PowerShell.Service;

/// <summary>How much text of a schema a module's commands and their help may hold beside names. The same
/// comment may belong to thousands of commands.</summary>
internal sealed class TextBudget(int characters = 4_000_000)
{
    private int _left = characters;

    /// <summary>The text, cut to a length; empty when the budget is used up.</summary>
    public string Take(string text, int maxLength)
    {
        int length = Math.Min(text.Length, maxLength);
        if (length < text.Length && length > 0 && char.IsHighSurrogate(text[length - 1]))
        {
            // The other half is cut off, and one half is no text.
            length--;
        }

        return !Take(length, maxLength) ? ""
            : length == text.Length ? text
            : $"{text.AsSpan(0, length)}...";
    }

    /// <summary>Whether a number of characters is not too many, and there are as many left.</summary>
    public bool Take(int length, int maxLength)
    {
        if (length > maxLength || length > _left)
        {
            return false;
        }

        _left -= length;
        return true;
    }
}
