using System.Collections;
using System.Collections.Specialized;
using System.Management.Automation;
using ProtoRpc.Commands;
using ProtoRpc.Messages;
using ProtoRpc.Messages.Mapping;
using ProtoRpc.PowerShell.Objects;

namespace ProtoRpc.PowerShell.Service;

/// <summary>Makes the requests of a command of its parameters and the objects of the pipeline.</summary>
internal sealed class CommandRequest
{
    private readonly ServiceCommand _command;
    private readonly bool _takesInput;

    // Of the command line: the same for all objects, and before what these have.
    private readonly List<KeyValuePair<string, object?>> _given = [];

    /// <param name="command">The command.</param>
    /// <param name="takesInput">Whether there is a pipeline.</param>
    public CommandRequest(ServiceCommand command, bool takesInput)
    {
        _command = command;
        _takesInput = takesInput;
    }

    /// <summary>Adds a parameter of the command line, where it is one of a field.</summary>
    public void Give(string name, object? value)
    {
        if (!IsNothing(value) && _command.FindByName(name) is { } parameter)
        {
            _given.Add(new(parameter.Field.Name, value is SwitchParameter flag ? flag.ToBool() : value));
        }
    }

    /// <summary>The next request.</summary>
    /// <param name="input">The object of the pipeline, or of -InputObject; null for none.</param>
    /// <returns>Null for none: a method that takes a stream is called without a message.</returns>
    /// <exception cref="RpcException">InvalidArgument: the object has nothing of a request, or a property
    /// that cannot be read.</exception>
    public object? Next(object? input)
    {
        object? value = PSObjectModel.Instance.Unwrap(input);
        if (value is null)
        {
            bool isRequest = _given.Count > 0
                || (!_command.Method.IsClientStreaming && !CommandParameters.IsAnyObject(_command.WellKnown));
            return isRequest ? Given() : null;
        }

        if (IsValue(value))
        {
            return _given.Count == 0
                ? input
                : throw NothingOf(PSObject.AsPSObject(input), _command.Method.RequestType);
        }

        return value switch
        {
            DynamicMessage message when _given.Count > 0 =>
                With((IDictionary)ShellMapper.Create(asHashtable: true).ToObject(message)),
            DynamicMessage => input,
            IDictionary dictionary => _given.Count > 0 ? With(dictionary) : dictionary,
            IList when !_takesInput && _given.Count == 0 => input,
            PSObject raw when _given.Count == 0 && DeserializedValue.EncodedOf(raw) is not null => input,
            _ => OfProperties(PSObject.AsPSObject(input)),
        };
    }

    // Whether the object is the request: a time where the request is a Timestamp. The properties of such an
    // object, as the seconds of a TimeSpan, are not the fields.
    private bool IsValue(object value) => _command.WellKnown switch
    {
        WellKnownType.None => false,
        WellKnownType.Timestamp or WellKnownType.Duration or WellKnownType.Wrapper =>
            ScalarReader.IsScalar(value),
        WellKnownType.Any => _given.Count == 0,
        WellKnownType.FieldMask => value is string,
        _ => true,
    };

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

    // Keys may be other names of the fields that were given.
    private OrderedDictionary With(IDictionary dictionary)
    {
        OrderedDictionary request = Given();
        foreach (DictionaryEntry entry in dictionary)
        {
            string key = LanguagePrimitives.ConvertTo<string>(entry.Key);
            string name = _command.Method.RequestType.FindField(key)?.Name ?? key;
            if (!request.Contains(name))
            {
                request.Add(name, entry.Value);
            }
        }

        return request;
    }

    // The mapper of messages reads the values: it leaves empty cells of a table out, and reads lists in them.
    private object OfProperties(PSObject input)
    {
        if (_given.Count == 0 && PSObjectModel.Instance.TryGetSource(input) is not null && IsWhole(input))
        {
            // A reply, whose unknown fields are kept.
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

        RpcMessageInfo type = _command.Method.RequestType;
        return found.Count > _given.Count || type.Fields.Count == 0 || input.Properties.Any(IsField)
            ? new PropertyRow(found)
            : throw NothingOf(input, type);
    }

    // Whether all properties have names of fields, so that nothing is to be left out.
    private bool IsWhole(PSObject input) => input.Properties.All(property =>
        NameOf(property.Name) is { } name
        && _command.Method.RequestType.FindField(property.Name)?.Name == name);

    private bool IsField(PSPropertyInfo property) => NameOf(property.Name) is not null;

    private string? NameOf(string property) =>
        _command.FindParameter(property)?.Field.Name ?? NestedName(property);

    // Columns of nested messages, address.city, and extensions, [shop.note].
    private string? NestedName(string name)
    {
        int dot = name.IndexOf('.', StringComparison.Ordinal);
        return dot > 0 && name[0] != '[' && _command.Method.RequestType.FindField(name[..dot]) is not null
            || name.StartsWith('[') && _command.Method.RequestType.FindField(name) is not null
            ? name
            : null;
    }

    private RpcException NothingOf(PSObject input, RpcMessageInfo type) => new(
        RpcStatusCode.InvalidArgument,
        $"An object of the type {input.BaseObject.GetType().Name} has no property that is a field of "
        + $"{type.FullName}. Its fields are {string.Join(", ", type.Fields.Take(10).Select(f => f.Name))}"
        + $"{(type.Fields.Count > 10 ? ", ..." : "")}. Pipe in objects with such properties, or hashtables.")
    {
        ErrorId = RpcErrorIds.InvalidInputObject,
    };
}
