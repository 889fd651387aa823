namespace ProtoRpc.PowerShell.Service;

/// <summary>How much text of a schema a module's script may hold beside names. The same comment may belong to
/// thousands of commands.</summary>
internal sealed class TextBudget(int characters = 4_000_000)
{
    private int _left = characters;

    /// <summary>The text, cut to a length; empty when the budget is used up.</summary>
    public string Take(string text, int maxLength)
    {
        int length = Math.Min(text.Length, maxLength);
        if (length > _left)
        {
            return "";
        }

        _left -= length;
        return length == text.Length ? text : $"{text.AsSpan(0, length)}...";
    }
}
