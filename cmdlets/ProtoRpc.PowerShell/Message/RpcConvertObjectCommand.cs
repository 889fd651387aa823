using System.Management.Automation;
using ProtoRpc.PowerShell.Objects;
using ProtoRpc.PowerShell.Runspaces;

namespace ProtoRpc;

/// <summary>The base of cmdlets that convert objects to messages. The type is given, or is that of the reply
/// that the object was made of.</summary>
public abstract class RpcConvertObjectCommand : RpcConvertCommand
{
    private RpcSchema? _schema;
    private RpcMessageInfo? _type;

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
                RpcStatusCode.InvalidArgument,
                $"The message type of {Describe(InputObject)} is unknown, because it is not a reply of "
                + "this schema. Give the full name of the message with -Type.")
            {
                ErrorId = RpcErrorIds.UnknownMessageType,
            };
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
        PSObject wrapped => $"a {wrapped.BaseObject.GetType().Name}",
        _ => $"a {value.GetType().Name}",
    };
}
