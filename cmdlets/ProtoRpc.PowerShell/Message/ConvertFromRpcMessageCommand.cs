using System.Text;
using ProtoRpc.Messages;
using ProtoRpc.Messages.Mapping;
using ProtoRpc.PowerShell.Cmdlets;
using ProtoRpc.PowerShell.Completion;
using ProtoRpc.PowerShell.Connections;
using ProtoRpc.PowerShell.Objects;

namespace ProtoRpc;

/// <summary>The base of cmdlets that convert messages. Adds the parameters for the schema.</summary>
public abstract class RpcConvertCommand : RpcCmdlet
{
    protected const string ByConnection = "Connection";
    protected const string BySchema = "Schema";

    private protected RpcConvertCommand()
    {
    }

    [Parameter(Mandatory = true, Position = 1, ValueFromPipeline = true)]
    [AllowNull]
    [AllowEmptyCollection]
    public virtual object? InputObject { get; set; }

    [Parameter(ParameterSetName = ByConnection)]
    [ValidateNotNull]
    [ArgumentCompleter(typeof(ConnectionCompleter))]
    public RpcConnection? Connection { get; set; }

    [Parameter(Mandatory = true, ParameterSetName = BySchema)]
    [SchemaList]
    [ArgumentCompleter(typeof(SchemaFileCompleter))]
    public RpcSchemaSource? Schema { get; set; }

    [Parameter]
    public SwitchParameter AllowUnknownField { get; set; }

    /// <summary>The schema for the conversion: the given one, the connection's, otherwise that of the only
    /// open connection.</summary>
    private protected RpcSchema FindSchema()
    {
        if (Schema is not null)
        {
            return Resolve(Schema);
        }

        RpcConnection connection = RunspaceStore.Current.Resolve(Connection, "-Schema");
        return connection.Schema ?? throw RpcErrors.NoSchema(connection);
    }
}

[Cmdlet(VerbsData.ConvertFrom, "RpcMessage", DefaultParameterSetName = ByConnection)]
[OutputType(typeof(PSObject), typeof(System.Collections.Specialized.OrderedDictionary))]
public sealed class ConvertFromRpcMessageCommand : RpcConvertCommand
{
    // A pipeline unrolls a byte array into single bytes, which are collected here.
    private readonly MemoryStream _bytes = new();
    private RpcMessageInfo? _type;

    [Parameter(Mandatory = true, Position = 0)]
    [ValidateNotNullOrEmpty]
    [ArgumentCompleter(typeof(MessageTypeCompleter))]
    public string Type { get; set; } = "";

    [Parameter]
    [ValidateSet(typeof(FormatNames))]
    public string Format { get; set; } = MessageFormats.Binary.Name;

    [Parameter]
    public SwitchParameter NestRepeated { get; set; }

    [Parameter]
    public SwitchParameter AsHashtable { get; set; }

    [Parameter]
    public SwitchParameter Raw { get; set; }

    protected override void Process()
    {
        switch (Unwrap(InputObject))
        {
            case byte one:
                _bytes.WriteByte(one);
                break;
            case null:
                Write(ReadOnlyMemory<byte>.Empty);
                break;
            case string text when MessageFormats.Named(Format).IsText:
                Write(Encoding.UTF8.GetBytes(text));
                break;
            case { } value:
                Write(ToBytes(value));
                break;
        }
    }

    protected override void End()
    {
        if (_bytes.Length > 0)
        {
            Write(_bytes.GetBuffer().AsMemory(0, (int)_bytes.Length));
        }
    }

    protected override void Dispose(bool disposing)
    {
        _bytes.Dispose();
        base.Dispose(disposing);
    }

    // Unlike a field of bytes, a binary message is never text, so a text is decoded as base64 even without a
    // prefix.
    private static string? ReadBytes(object value, out byte[] bytes) =>
        value is string text && !text.Contains(':')
            ? BytesReader.ReadBase64(text, out bytes) is null
                ? null
                : "is not base64; give a byte array, base64 text or a stream."
            : BytesReader.Read(value, PSObjectModel.Instance, out bytes);

    private static byte[] ToBytes(object value) =>
        ReadBytes(value, out byte[] bytes) is { } wrong
            ? throw new RpcException(
                RpcStatusCode.InvalidArgument, RpcErrorIds.InvalidInputObject,
                $"-InputObject: {ValueText.Format(value)} {wrong}")
            : bytes;

    private void Write(ReadOnlyMemory<byte> bytes)
    {
        FormatOptions options = new()
        {
            // No limit: the limit protects against peers, and this data comes from the user.
            MaxElements = int.MaxValue,
            IgnoreUnknownFields = AllowUnknownField,
            NestedRepeated = NestRepeated,
        };
        DynamicMessage message =
            MessageFormats.Named(Format).Read(_type ??= FindSchema().GetMessage(Type), bytes, options);
        WriteObject(Raw ? message : ShellMapper.Create(AsHashtable).ToObject(message));
    }
}

/// <summary>The base of cmdlets that convert objects to messages. The type is given, or is that of the reply
/// that the object was made of.</summary>
public abstract class RpcConvertObjectCommand : RpcConvertCommand
{
    private RpcSchema? _schema;
    private RpcMessageInfo? _type;

    private protected RpcConvertObjectCommand()
    {
    }

    [Parameter(Position = 0)]
    [ValidateNotNullOrEmpty]
    [ArgumentCompleter(typeof(MessageTypeCompleter))]
    public string? Type { get; set; }

    [Parameter(Mandatory = true, Position = 1, ValueFromPipeline = true)]
    [AllowNull]
    [AllowEmptyCollection]
    [ArgumentCompleter(typeof(MessageCompleter))]
    public override object? InputObject
    {
        get => base.InputObject;
        set => base.InputObject = value;
    }

    private protected override object? RowObject => MyInvocation.ExpectingInput ? InputObject : null;

    /// <summary>Converts the pipeline object to a message.</summary>
    private protected DynamicMessage ReadInput() =>
        ShellMapper.Create(asHashtable: false, AllowUnknownField).ToMessage(FindType(), InputObject);

    private RpcMessageInfo FindType()
    {
        if (Type is not null)
        {
            return _type ??= FindSchema().GetMessage(Type);
        }

        RpcMessageInfo? known = TypeOfInput();
        if (Schema is null && Connection is null && known is not null)
        {
            return known;
        }

        // The object may have been made with another schema than the given one.
        string? name = known?.FullName
            ?? (InputObject is PSObject named ? ObjectTypeNames.FullNameOf(named) : null);
        bool hasSchema = Schema is not null || Connection is not null
            || RunspaceStore.Current.Connections.Count == 1;
        return hasSchema && name is not null && (_schema ??= FindSchema()).FindMessage(name) is { } found
            ? found
            : throw new RpcException(
                RpcStatusCode.InvalidArgument, RpcErrorIds.UnknownMessageType,
                $"The message type of {Describe(InputObject)} is unknown, because it is not a reply of "
                + "this schema. Give the full name of the message with -Type.");
    }

    private RpcMessageInfo? TypeOfInput() => InputObject switch
    {
        PSObject { BaseObject: DynamicMessage message } => message.Type,
        PSObject custom when ObjectTypeNames.TryGetType(custom, out RpcMessageInfo? type) => type,
        DynamicMessage message => message.Type,
        _ => null,
    };

    private static string Describe(object? value) => value switch
    {
        null => "$null",
        PSObject { BaseObject: PSCustomObject } => "the object",
        PSObject wrapped => $"an object of the type {wrapped.BaseObject.GetType().Name}",
        _ => $"an object of the type {value.GetType().Name}",
    };
}

[Cmdlet(VerbsData.ConvertTo, "RpcMessage", DefaultParameterSetName = ByConnection)]
[OutputType(typeof(byte[]), typeof(string))]
public sealed class ConvertToRpcMessageCommand : RpcConvertObjectCommand
{
    [Parameter]
    [ValidateSet(typeof(FormatNames))]
    public string Format { get; set; } = MessageFormats.Binary.Name;

    [Parameter]
    public SwitchParameter NestRepeated { get; set; }

    [Parameter]
    public SwitchParameter Indented { get; set; }

    [Parameter]
    public SwitchParameter IncludeDefault { get; set; }

    [Parameter]
    public SwitchParameter UseProtoName { get; set; }

    [Parameter]
    [ValidateNotNullOrEmpty]
    public string XmlRoot { get; set; } = FormatOptions.Default.XmlRoot;

    [Parameter]
    public SwitchParameter ExpandAny { get; set; }

    protected override void Process()
    {
        DynamicMessage message = ReadInput();
        MessageFormat format = MessageFormats.Named(Format);
        FormatOptions options = new()
        {
            Indented = Indented,
            IncludeDefaults = IncludeDefault,
            UseProtoNames = UseProtoName,
            XmlRoot = XmlRoot,
            NestedRepeated = NestRepeated,
            ExpandAny = ExpandAny,
        };
        WriteObject(
            format.IsText ? format.ToText(message, options) : format.ToArray(message, options),
            enumerateCollection: false);
    }
}

[Cmdlet(VerbsData.ConvertTo, "RpcRecord", DefaultParameterSetName = ByConnection)]
[OutputType(typeof(PSObject))]
public sealed class ConvertToRpcRecordCommand : RpcConvertObjectCommand
{
    protected override void Process()
    {
        DynamicMessage message = ReadInput();
        PSObject record = new();
        foreach ((string name, object? value) in ShellMapper.Create(asHashtable: false).ToRecord(message))
        {
            if (record.Properties[name] is { } other)
            {
                throw new RpcException(
                    RpcStatusCode.InvalidArgument, RpcErrorIds.AmbiguousColumn,
                    $"A record of {message.Type.FullName} cannot have the columns '{other.Name}' and "
                    + $"'{name}', which "
                    + "differ only in case. Use ConvertTo-RpcMessage -Format Json.");
            }

            if (PSObjectModel.IsOfEveryObject(name))
            {
                throw new RpcException(
                    RpcStatusCode.InvalidArgument, RpcErrorIds.AmbiguousColumn,
                    $"A record of {message.Type.FullName} cannot have the column '{name}', because every "
                    + "object of PowerShell has a property of that name. Use ConvertTo-RpcMessage "
                    + "-Format Json.");
            }

            record.Properties.Add(new PSNoteProperty(name, value));
        }

        WriteObject(record);
    }
}
