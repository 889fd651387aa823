using ProtoRpc.Messages;
using ProtoRpc.PowerShell.Objects;

namespace ProtoRpc.PowerShell.Methods;

/// <summary>Makes the requests of a call from the argument of the cmdlet: objects, JSON texts, files and
/// messages.</summary>
/// <param name="allowUnknownField">Whether to ignore keys that are not fields.</param>
internal sealed class RequestReader(bool allowUnknownField)
{
    private readonly MessageMapper _mapper =
        ShellMapper.Create(asHashtable: false, allowUnknownFields: allowUnknownField);

    /// <summary>Reads objects of the shell.</summary>
    public PSObjectModel Objects => (PSObjectModel)_mapper.Objects;

    /// <summary>The requests of one argument. If the method takes a stream, each element of a list is a
    /// request.</summary>
    /// <exception cref="RpcException">InvalidArgument: the argument is no request of the method.</exception>
    public List<DynamicMessage> ReadAll(RpcMethodInfo method, object? request)
    {
        object? value = request is PSObject wrapped ? wrapped.BaseObject : request;
        IEnumerable<object?> requests = !method.IsClientStreaming ? [request] : value switch
        {
            null => [],
            IList list and not byte[] => list.Cast<object?>(),
            _ => [request],
        };
        return [.. requests.Select(message => Read(method, message))];
    }

    /// <summary>One request.</summary>
    /// <exception cref="RpcException">InvalidArgument: the argument is no request of the method.</exception>
    public DynamicMessage Read(RpcMethodInfo method, object? message) =>
        message is PSObject { BaseObject: DynamicMessage raw }
            ? raw
            : WrittenMessage.TryRead(
                method.RequestType, message is PSObject wrapped ? wrapped.BaseObject : message,
                allowUnknownField)
            ?? _mapper.ToMessage(method.RequestType, message);
}

/// <summary>Converts the replies of a call to the objects that the cmdlet writes.</summary>
/// <param name="asHashtable">Whether messages become ordered hashtables.</param>
/// <param name="raw">Whether to return messages without conversion.</param>
internal sealed class ReplyObjects(bool asHashtable, bool raw)
{
    private readonly MessageMapper _mapper = ShellMapper.Create(asHashtable);
    private volatile bool _warnedOfSchema;

    /// <summary>A reply as an object; null if it is a google.protobuf.Value with the value null.</summary>
    /// <param name="reply">The reply.</param>
    /// <param name="server">The server, for the warning.</param>
    /// <param name="warn">Writes a warning if the schema does not match the reply.</param>
    public object? ToObject(DynamicMessage reply, RpcEndpoint server, Action<string> warn)
    {
        CheckSchema(reply, server, warn);
        return raw ? reply : _mapper.ToObject(reply);
    }

    /// <summary>An element of a list as an object; null if it is a google.protobuf.Value with the value
    /// null.</summary>
    public object? ToObject(object element, RpcFieldInfo field) => element switch
    {
        DynamicMessage message when !raw => _mapper.ToObject(message),
        int number when !raw && field.EnumType?.FindName(number) is { } name => name,
        _ => element,
    };

    // Fields that arrive with another type would look empty. Checked once, because further replies have the
    // same schema.
    public void CheckSchema(DynamicMessage reply, RpcEndpoint endpoint, Action<string> warn)
    {
        if (!_warnedOfSchema && ReplyMismatch.Find(reply) is { } field)
        {
            _warnedOfSchema = true;
            warn(
                $"The schema does not match that of '{endpoint}': the field {field.FullName} was not sent as "
                + $"{field.TypeName} and is left empty. Use the server's .proto files. If the server has "
                + "reflection, Test-RpcEndpoint -Schema lists the differences.");
        }
    }

    /// <summary>Adds the endpoint that sent the reply as a property, as Invoke-Command adds
    /// PSComputerName.</summary>
    public static PSObject Tag(object reply, RpcEndpoint endpoint)
    {
        PSObject tagged = PSObject.AsPSObject(reply);
        if (tagged.Properties[EndpointTag.PropertyName] is null)
        {
            tagged.Properties.Add(new EndpointTag(endpoint));
        }

        return tagged;
    }
}
