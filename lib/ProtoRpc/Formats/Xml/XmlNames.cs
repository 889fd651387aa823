using ProtoRpc.Messages;

namespace ProtoRpc.Formats.Xml;

/// <summary>The names of elements.</summary>
internal static class XmlNames
{
    public const string Item = "item";
    public const string Key = "key";
    public const string Value = "value";

    /// <summary>The element of a field; an extension's is its full name, without the brackets that XML does
    /// not take.</summary>
    public static string Of(FieldLayout field) =>
        field.Info.IsExtension ? field.Info.FullName : field.Info.Name;

    /// <summary>The field of an element. A field of the message comes before an extension
    /// of no package.</summary>
    public static FieldLayout? Find(MessageLayout layout, string name) =>
        layout.Find(name) ?? layout.Find($"[{name}]");
}
