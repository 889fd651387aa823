namespace ProtoRpc;

/// <summary>The rules by which <see cref="RpcSchemaComparison"/> finds breaking changes.</summary>
/// <remarks>docs/compatibility.md lists the effect of each rule, and the rules of buf that it
/// includes.</remarks>
public enum RpcBreakingRule
{
    /// <summary>No file has the package any more.</summary>
    PackageDeleted,

    /// <summary>The file was deleted.</summary>
    FileDeleted,

    /// <summary>The file has another package.</summary>
    FilePackageChanged,

    /// <summary>The file has another syntax: proto2, proto3 or an edition.</summary>
    FileSyntaxChanged,

    /// <summary>An option of the file changed on which generated code depends.</summary>
    FileOptionChanged,

    /// <summary>Another file of the package declares the message, enum, extension or service.</summary>
    MovedToOtherFile,

    /// <summary>The message was deleted.</summary>
    MessageDeleted,

    /// <summary>The enum was deleted.</summary>
    EnumDeleted,

    /// <summary>The extension was deleted.</summary>
    ExtensionDeleted,

    /// <summary>The service was deleted.</summary>
    ServiceDeleted,

    /// <summary>The method was deleted.</summary>
    MethodDeleted,

    /// <summary>The message has no field of this number any more.</summary>
    FieldDeleted,

    /// <summary>The field of this number has another type.</summary>
    FieldTypeChanged,

    /// <summary>The field of this number is required, optional, repeated or a map, and was something
    /// else.</summary>
    FieldCardinalityChanged,

    /// <summary>The field of this number has another name.</summary>
    FieldRenamed,

    /// <summary>The field has another name in JSON.</summary>
    FieldJsonNameChanged,

    /// <summary>The field moved into a oneof, out of it, or to another one.</summary>
    FieldOneofChanged,

    /// <summary>The field has another default.</summary>
    FieldDefaultChanged,

    /// <summary>Whether the text of the field must be valid UTF-8 changed.</summary>
    FieldUtf8Changed,

    /// <summary>An option of the field changed on which generated code depends.</summary>
    FieldOptionChanged,

    /// <summary>The message has a new required field.</summary>
    RequiredFieldAdded,

    /// <summary>The oneof was deleted.</summary>
    OneofDeleted,

    /// <summary>Numbers are no longer free for extensions.</summary>
    ExtensionRangeDeleted,

    /// <summary>Numbers or names are no longer reserved.</summary>
    ReservedDeleted,

    /// <summary>The message or enum no longer supports JSON by the feature json_format.</summary>
    JsonFormatChanged,

    /// <summary>Generated code has no accessor of the message's descriptor any more.</summary>
    DescriptorAccessorRemoved,

    /// <summary>The message became a MessageSet, or is no longer one.</summary>
    MessageSetChanged,

    /// <summary>The enum was open and is closed, or the reverse.</summary>
    EnumOpennessChanged,

    /// <summary>The enum has no value of this number any more.</summary>
    EnumValueDeleted,

    /// <summary>The value of this number lost a name.</summary>
    EnumValueRenamed,

    /// <summary>The method has another request type.</summary>
    RequestTypeChanged,

    /// <summary>The method has another reply type.</summary>
    ReplyTypeChanged,

    /// <summary>The client or the server sends a stream, and did not before, or the reverse.</summary>
    StreamingChanged,

    /// <summary>The method has another idempotency_level.</summary>
    IdempotencyChanged,

    /// <summary>The service has another interface id on the native protocol.</summary>
    InterfaceIdChanged,

    /// <summary>The method lost a route of google.api.http.</summary>
    RestRouteDeleted,

    /// <summary>A route of google.api.http puts its parts into other fields.</summary>
    RestRouteChanged,
}
