using System.Collections.Specialized;
using ProtoRpc.Messages;
using ProtoRpc.Messages.Mapping;
using ProtoRpc.PowerShell.Cmdlets;
using ProtoRpc.PowerShell.Completion;
using ProtoRpc.PowerShell.Connections;
using ProtoRpc.PowerShell.Methods;
using ProtoRpc.PowerShell.Objects;
using ProtoRpc.Rendering;
using ProtoRpc.ServiceCommands;

namespace ProtoRpc;

/// <summary>The base class of the commands of services. Each command derives from it, with a property for
/// each field of the request.</summary>
/// <remarks>The commands are classes and not functions: the shell prepares all parameters of a function for
/// each call, even those that are not given, which takes longer than the call.</remarks>
public abstract class RpcServiceCommand : PSCmdlet, IDisposable
{
    // The two ways to give a request. A pipeline object selects the second one, so PowerShell does not bind
    // its properties to parameters, which would take longer than the call: the request reads them. So a
    // hashtable, whose entries PowerShell does not bind, can also contain mandatory fields.
    internal const string ByFields = "Fields";
    internal const string ByInput = nameof(InputObject);

    private ServiceCall? _call;

    [Parameter(ValueFromPipeline = true, ParameterSetName = ByInput)]
    public object? InputObject { get; set; }

    [Parameter]
    [ValidateNotNullOrEmpty]
    [ArgumentCompleter(typeof(ConnectionCompleter))]
    public RpcConnection[]? Connection { get; set; }

    [Parameter]
    [Deadline]
    public TimeSpan Deadline { get; set; }

    [Parameter]
    [ValidateNotNull]
    [ArgumentCompleter(typeof(HeaderCompleter))]
    public IDictionary? Header { get; set; }

    [Parameter]
    public SwitchParameter AsHashtable { get; set; }

    [Parameter]
    [ValidateRange(1, 10000)]
    public int ThrottleLimit { get; set; }

    [Parameter]
    public SwitchParameter AsJob { get; set; }

    /// <summary>Cancels what still runs.</summary>
    public void Dispose()
    {
        _call?.Dispose();
        GC.SuppressFinalize(this);
    }

    protected override void BeginProcessing()
    {
        try
        {
            _call = RpcServiceModule.From(MyInvocation.MyCommand).Begin(this);
        }
        catch (RpcException e)
        {
            ThrowTerminatingError(RpcErrors.ToRecord(e, GetType().Name));
        }
    }

    protected override void ProcessRecord() => _call!.Process(InputObject);

    protected override void EndProcessing() => _call!.End();
}

/// <summary>The base class of commands whose methods return a list in pages.</summary>
public abstract class RpcPagedServiceCommand : RpcServiceCommand
{
    [Parameter]
    public SwitchParameter All { get; set; }
}

/// <summary>A call of a service's command: its parameters make the messages, and Invoke-RpcMethod sends
/// them.</summary>
internal sealed class ServiceCall : IDisposable
{
    private const int MaxRequestCells = 200;
    private const int MaxEndpoints = 3;

    private readonly ServiceCommand _plan;
    private readonly RpcServiceCommand _command;
    private readonly InvokeRpcMethodCommand _invoke;
    private readonly CommandRequest _request;

    // Kept, so that objects of the pipeline do not allocate a delegate each.
    private readonly Func<object?> _next;
    private readonly Func<object?, bool> _allows;

    // With -Verbose alone, the request is not shown: it may contain secrets, which must not be logged.
    private readonly bool _namesRequest;
    private object? _input;
    private bool _wasAllowed;
    private bool _wasDeclined;

    public ServiceCall(RpcServiceModule module, ServiceCommand plan, RpcServiceCommand command)
    {
        _plan = plan;
        _command = command;
        _next = () => _request!.Next(_input);
        _allows = plan.CanConfirm ? Allows : static _ => true;
        _namesRequest = plan.CanConfirm && IsAsked(command);
        HashSet<string> given = new(StringComparer.OrdinalIgnoreCase);
        _invoke = InvokeRpcMethodCommand.For(command, plan.Method, given);
        try
        {
            _request = new CommandRequest(plan, command.MyInvocation.ExpectingInput);
            foreach ((string name, object? value) in command.MyInvocation.BoundParameters)
            {
                if (SetOwn(name, value))
                {
                    given.Add(name);
                }
                else
                {
                    _request.Give(name, value);
                }
            }

            if (_invoke.Connection is null && module.ConnectionFor(_invoke.CancellationOfCommand) is { } own)
            {
                // As with -InputObject, all pipeline objects are messages.
                _invoke.Connection = [own];
                given.Add(nameof(_invoke.Connection));
            }

            _invoke.BeginCommand();
        }
        catch (RpcException e)
        {
            using (_invoke)
            {
                _invoke.FailCommand(e);
            }

            throw;
        }
        catch
        {
            _invoke.Dispose();
            throw;
        }
    }

    /// <summary>Makes a call, or sends a message of a stream.</summary>
    /// <param name="input">The object of the pipeline, or of -InputObject; null for none.</param>
    public void Process(object? input)
    {
        _input = input;
        _invoke.ProcessCommand(_next, _allows, input);
    }

    /// <summary>Ends the stream, and waits for calls that run.</summary>
    public void End()
    {
        // A stream without messages is also a call.
        bool isFirst = !_wasAllowed && !_wasDeclined;
        if (isFirst && _plan.Method.IsClientStreaming ? _allows(null) : !_wasDeclined || _wasAllowed)
        {
            _invoke.EndCommand();
        }
    }

    /// <summary>Cancels what still runs.</summary>
    public void Dispose() => _invoke.Dispose();

    // Whether -WhatIf, -Confirm or a preference of the session asks before the call.
    private static bool IsAsked(PSCmdlet command) =>
        command.MyInvocation.BoundParameters.ContainsKey("WhatIf")
        || command.MyInvocation.BoundParameters.ContainsKey("Confirm")
        || LanguagePrimitives.IsTrue(command.GetVariableValue("WhatIfPreference"))
        || (LanguagePrimitives.TryConvertTo(
                command.GetVariableValue("ConfirmPreference"), out ConfirmImpact impact)
            && impact is ConfirmImpact.Low or ConfirmImpact.Medium);

    // All messages of a stream belong to one call, which is confirmed once.
    private bool Allows(object? request)
    {
        if (_plan.Method.IsClientStreaming && (_wasAllowed || _wasDeclined))
        {
            return _wasAllowed;
        }

        bool isAllowed = _command.ShouldProcess(TargetOf(request), _plan.Method.FullName);
        _wasAllowed |= isAllowed;
        _wasDeclined |= !isAllowed;
        return isAllowed;
    }

    private string TargetOf(object? request)
    {
        IEnumerable<RpcConnection> connections =
            _invoke.Connection ?? RunspaceStore.Current.Connections;
        string endpoints = string.Join(", ", connections.Take(MaxEndpoints).Select(one => one.Endpoint))
            + (connections.Skip(MaxEndpoints).Any() ? ", ..." : "");
        return request is null || !_namesRequest || _plan.Method.IsClientStreaming
            ? endpoints
            : $"{CommandRequest.TextOf(request, MaxRequestCells)} at {endpoints}";
    }

    // Sets a parameter of Invoke-RpcMethod. All other parameters are fields.
    private bool SetOwn(string name, object? value)
    {
        switch (name)
        {
            case nameof(_invoke.Connection):
                _invoke.Connection = (RpcConnection[])value!;
                return true;
            case nameof(_invoke.Deadline):
                _invoke.Deadline = (TimeSpan?)value;
                return true;
            case nameof(_invoke.Header):
                _invoke.Header = (IDictionary)value!;
                return true;
            case nameof(_invoke.AsHashtable):
                _invoke.AsHashtable = (SwitchParameter)value!;
                return true;
            case nameof(_invoke.ThrottleLimit):
                _invoke.ThrottleLimit = (int)value!;
                return true;
            case nameof(_invoke.AsJob):
                _invoke.AsJob = (SwitchParameter)value!;
                return true;
            // For other commands, -All is the parameter of a field.
            case nameof(_invoke.All) when _plan.IsPaged:
                _invoke.All = (SwitchParameter)value!;
                return true;
            default:
                return false;
        }
    }
}

/// <summary>Makes a command's requests from its parameters and the objects of the pipeline.</summary>
/// <param name="command">The command.</param>
/// <param name="takesInput">Whether the command gets objects from a pipeline.</param>
internal sealed class CommandRequest(ServiceCommand command, bool takesInput)
{
    // The fields of the command line. They are the same for all pipeline objects, and have priority.
    private readonly List<KeyValuePair<string, object?>> _given = [];
    private readonly CommandParameter? _only = command.OnlyValue;

    /// <summary>Adds a parameter of the command line to the request, if it is the parameter of a
    /// field.</summary>
    public void Give(string name, object? value)
    {
        if (!IsNothing(value) && command.FindByName(name) is { } parameter)
        {
            _given.Add(new(parameter.Field.Name, value is SwitchParameter flag ? flag.ToBool() : value));
        }
    }

    /// <summary>The next request.</summary>
    /// <param name="input">The object of the pipeline, or of -InputObject; null for none.</param>
    /// <returns>The request. Null if there is none: a client-streaming method is then called without a
    /// message.</returns>
    /// <exception cref="RpcException">InvalidArgument: the object has no field of the request, or a property
    /// cannot be read.</exception>
    public object? Next(object? input)
    {
        object? value = PSObjectModel.Instance.Unwrap(input);
        if (value is null)
        {
            bool isRequest = _given.Count > 0
                || (!command.Method.IsClientStreaming && !CommandParameters.IsAnyObject(command.WellKnown));
            return isRequest ? Given() : null;
        }

        if (WrittenIn(value) is { } written)
        {
            return _given.Count == 0
                ? PSObject.AsPSObject(written)
                : With(written);
        }

        if (_given.Count == 0 && _only is { } only
            && (value is string || (ScalarReader.IsScalar(value) && !HasFields(PSObject.AsPSObject(input)))))
        {
            return new OrderedDictionary(StringComparer.Ordinal) { [only.Field.Name] = input };
        }

        if (IsValue(value))
        {
            return _given.Count == 0
                ? input
                : throw NothingOf(PSObject.AsPSObject(input), command.Method.RequestType);
        }

        return value switch
        {
            DynamicMessage message when _given.Count > 0 => With(message),
            DynamicMessage => input,
            IDictionary dictionary => _given.Count > 0 ? With(dictionary) : dictionary,
            IList when !takesInput && _given.Count == 0 => input,
            PSObject raw when _given.Count == 0 && DeserializedValue.EncodedOf(raw) is not null => input,
            _ => OfProperties(PSObject.AsPSObject(input)),
        };
    }

    /// <summary>The beginning of a request in one line.</summary>
    public static string TextOf(object request, int cells) => ViewLine.Format(
        PSObjectModel.Instance,
        request is PropertyRow row ? row.Members.ToDictionary(StringComparer.Ordinal) : request,
        field: null, cells, out _);

    // Whether the object is the whole request, such as a time for a Timestamp. The properties of such an
    // object, such as the seconds of a TimeSpan, are not fields.
    private bool IsValue(object value) => command.WellKnown switch
    {
        WellKnownType.None => false,
        WellKnownType.Timestamp or WellKnownType.Duration or WellKnownType.Wrapper =>
            ScalarReader.IsScalar(value),
        WellKnownType.Any => _given.Count == 0,
        WellKnownType.FieldMask => value is string,
        _ => true,
    };

    // A file or a JSON text is the whole request, as in Invoke-RpcMethod. The properties of a file, such as
    // its name, would otherwise set fields with these names.
    private DynamicMessage? WrittenIn(object value)
    {
        RpcMessageInfo type = command.Method.RequestType;
        return value switch
        {
            DirectoryInfo folder => throw new RpcException(
                RpcStatusCode.InvalidArgument, RpcErrorIds.InvalidInputObject,
                $"The folder '{folder.FullName}' is not a request. Pipe in files with messages, or use "
                + "Select-Object to send properties of a folder."),
            FileInfo => WrittenMessage.TryRead(type, value, ignoreUnknown: false),
            string text when command.WellKnown == WellKnownType.None && !TakesText
                && text.AsSpan().TrimStart().StartsWith('{') =>
                WrittenMessage.TryRead(type, text, ignoreUnknown: false),
            _ => null,
        };
    }

    // Whether a text from the pipeline is the value of the only field, even if it looks like JSON.
    private bool TakesText => _only?.Field is { } only
        && (only.Kind is RpcFieldKind.String or RpcFieldKind.Bytes || only.MessageType is not null);

    private static bool IsNothing(object? value) => value switch
    {
        null => true,
        DateTimeOffset time => time.EqualsExact(RpcFieldTextAttribute.NoTime),
        TimeSpan span => span == RpcFieldTextAttribute.NoDuration,
        _ => false,
    };

    private OrderedDictionary Given()
    {
        OrderedDictionary request = new(_given.Count, StringComparer.Ordinal);
        foreach ((string name, object? value) in _given)
        {
            request.Add(name, value);
        }

        return request;
    }

    private OrderedDictionary With(DynamicMessage message) =>
        With((IDictionary)ShellMapper.Create(asHashtable: true).ToObject(message));

    // A key may be another name of a field that the command line sets.
    private OrderedDictionary With(IDictionary dictionary)
    {
        OrderedDictionary request = Given();
        foreach (DictionaryEntry entry in dictionary)
        {
            string key = LanguagePrimitives.ConvertTo<string>(entry.Key);
            string name = command.Method.RequestType.FindField(key)?.Name ?? key;
            if (!request.Contains(name))
            {
                request.Add(name, entry.Value);
            }
        }

        return request;
    }

    // The message mapper reads the values: it omits empty cells of a table, and reads lists in cells.
    private object OfProperties(PSObject input)
    {
        if (_given.Count == 0 && PSObjectModel.Instance.TryGetSource(input) is not null && IsWhole(input))
        {
            // The object is a reply, whose unknown fields are kept.
            return input;
        }

        Dictionary<string, object?> found = new(_given, StringComparer.Ordinal);
        foreach (PSPropertyInfo property in input.Properties)
        {
            if (NameOf(property.Name) is { } name && !found.ContainsKey(name)
                && PSObjectModel.Instance.TryGetValue(property, out object? value))
            {
                found.Add(name, value);
            }
        }

        RpcMessageInfo type = command.Method.RequestType;
        return found.Count > _given.Count || type.Fields.Count == 0 || HasFields(input)
            ? new PropertyRow(found)
            : throw NothingOf(input, type);
    }

    // Whether all properties are fields, so that the object can be used unchanged.
    private bool IsWhole(PSObject input) => input.Properties.All(property =>
        NameOf(property.Name) is { } name
        && command.Method.RequestType.FindField(property.Name)?.Name == name);

    private bool HasFields(PSObject input) =>
        input.Properties.Any(property => NameOf(property.Name) is not null);

    private string? NameOf(string property) =>
        command.FindParameter(property)?.Field.Name ?? NestedName(property);

    // Columns of nested messages, such as address.city, and of extensions, such as [shop.note].
    private string? NestedName(string name)
    {
        int dot = name.IndexOf('.', StringComparison.Ordinal);
        return dot > 0 && name[0] != '[' && command.Method.RequestType.FindField(name[..dot]) is not null
            || name.StartsWith('[') && command.Method.RequestType.FindField(name) is not null
            ? name
            : null;
    }

    private RpcException NothingOf(PSObject input, RpcMessageInfo type) => new(
        RpcStatusCode.InvalidArgument, RpcErrorIds.InvalidInputObject,
        $"An object of the type {input.BaseObject.GetType().Name} has no property that is a field of "
        + $"{type.FullName}. Its fields are {string.Join(", ", type.Fields.Take(10).Select(f => f.Name))}"
        + $"{(type.Fields.Count > 10 ? ", ..." : "")}. Pipe in objects with such properties, "
        + "hashtables, JSON objects as text, or files with messages.");
}
