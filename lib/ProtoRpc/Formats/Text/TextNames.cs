using System.Buffers;
using ProtoRpc.Messages;

namespace ProtoRpc.Formats.Text;

/// <summary>The names of fields in the text format.</summary>
internal static class TextNames
{
    // Those that readers take, without the percent sign, which needs two digits after it.
    private static readonly SearchValues<char> UrlCharacters = SearchValues.Create(
        "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz._/-~!$&'()*+,;=:@");

    /// <summary>The name of a field; a group has its type's, an extension its full name in brackets, what a
    /// MessageSet holds its type's full name in brackets.</summary>
    public static string Of(FieldLayout field) =>
        IsLikeGroup(field.Info) ? field.Info.MessageType!.Name : field.Info.MessageSetName ?? field.Info.Name;

    /// <summary>The field of a name without brackets, exactly as it is written;
    /// a group by either name.</summary>
    public static FieldLayout? Find(MessageLayout layout, string name)
    {
        if (layout.Find(name) is { Info.IsExtension: false } found && found.Info.Name == name)
        {
            return found;
        }
        foreach (FieldLayout field in layout.Fields)
        {
            if (field.Kind == RpcFieldKind.Group && !field.Info.IsExtension && Of(field) == name)
            {
                return field;
            }
        }
        return null;
    }

    /// <summary>The extension of a name in brackets.</summary>
    public static FieldLayout? FindExtension(MessageLayout layout, string name) =>
        layout.Find($"[{name}]") is { Info.IsExtension: true } found
            && (found.Info.FullName == name || found.Info.MessageSetName == $"[{name}]")
            ? found
            : null;

    /// <summary>Whether the URL of a type stands in brackets as it is. It is a peer's, who could end the
    /// brackets in it, or write to a terminal.</summary>
    public static bool CanBracket(string typeUrl) => !typeUrl.AsSpan().ContainsAnyExcept(UrlCharacters);

    // What proto2 declares with the word group, and what an edition declares as if it were one.
    private static bool IsLikeGroup(RpcFieldInfo field) =>
        field.Kind == RpcFieldKind.Group && !field.IsExtension &&
        field.Name == field.MessageType!.Name.ToLowerInvariant() &&
        field.MessageType.ContainingType == field.ContainingType;
}
