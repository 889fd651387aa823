using ProtoRpc.Messages;

namespace ProtoRpc.Commands;

/// <summary>Plans the parameters of a command: one for each field of the request.</summary>
internal static class CommandParameters
{
    /// <summary>Whether nearly every object of the shell is such a request.</summary>
    public static bool IsAnyObject(WellKnownType request) =>
        request is WellKnownType.Struct or WellKnownType.Value or WellKnownType.ListValue;

    /// <summary>The parameters in declared order.</summary>
    public static IReadOnlyList<CommandParameter> Of(RpcMessageInfo request)
    {
        // A hashtable or a list is itself such a request, and its keys are not the fields.
        IReadOnlyList<RpcFieldInfo> fields = IsAnyObject(WellKnownTypes.Of(request)) ? [] : request.Fields;
        string[] names = NamesOf(fields);
        HashSet<string> used = new(names, StringComparer.OrdinalIgnoreCase);
        CommandParameter[] parameters = new CommandParameter[fields.Count];
        for (int i = 0; i < fields.Count; i++)
        {
            parameters[i] = Create(names[i], AliasesOf(fields[i], used), fields[i]);
        }

        return parameters;
    }

    // Several fields may be the same in Pascal case, or without regard to case: all but the first get their
    // number, which no other field has.
    private static string[] NamesOf(IReadOnlyList<RpcFieldInfo> fields)
    {
        string[] names = [.. fields.Select(NameOf)];
        HashSet<string> all = new(names, StringComparer.OrdinalIgnoreCase);
        HashSet<string> used = new(StringComparer.OrdinalIgnoreCase);
        for (int i = 0; i < names.Length; i++)
        {
            if (used.Add(names[i]))
            {
                continue;
            }

            string numbered = $"{names[i]}{ReservedNames.Suffix}{fields[i].Number}";
            for (string name = numbered; ; name += ReservedNames.Suffix)
            {
                if (!all.Contains(name) && used.Add(name))
                {
                    names[i] = name;
                    break;
                }
            }
        }

        return names;
    }

    private static string NameOf(RpcFieldInfo field)
    {
        string name = NameWords.Pascal(field.Name);
        return name.Length == 0 || char.IsAsciiDigit(name[0]) ? ReservedNames.Suffix + name
            : ReservedNames.IsParameter(name) || ReservedNames.IsVariable(name) ? name + ReservedNames.Suffix
            : name;
    }

    // The names that columns and properties have, and the plain name where only its variable is taken.
    private static List<string> AliasesOf(RpcFieldInfo field, HashSet<string> used)
    {
        List<string> aliases = [];
        foreach (string name in new[] { NameWords.Pascal(field.Name), field.Name })
        {
            bool isName = name.Length > 0 && !char.IsAsciiDigit(name[0]);
            if (isName && !ReservedNames.IsParameter(name) && used.Add(name))
            {
                aliases.Add(name);
            }
        }

        return aliases;
    }

    private static CommandParameter Create(string name, IReadOnlyList<string> aliases, RpcFieldInfo field)
    {
        if (field.IsMap)
        {
            return new(name, aliases, field, typeof(object));
        }

        (Type type, ArgumentText text) = ElementOf(field);
        if (!field.IsRepeated)
        {
            return new(name, aliases, field, type)
            {
                // With a value it says false: -All:$false. Without the switch, the field is absent.
                IsSwitch = type == typeof(bool) && !field.IsRequired,
                Text = text,
            };
        }

        // The mapper of messages reads the elements of the others better than a shell would.
        return new(name, aliases, field, ListOf(type))
        {
            Text = type == typeof(string) ? ArgumentText.Plain
                : type == typeof(byte[]) ? ArgumentText.BytesList
                : ArgumentText.List,
        };
    }

    private static (Type Type, ArgumentText Text) ElementOf(RpcFieldInfo field) => field.Kind switch
    {
        RpcFieldKind.Double => (typeof(double), ArgumentText.Plain),
        RpcFieldKind.Float => (typeof(float), ArgumentText.Plain),
        RpcFieldKind.Int32 or RpcFieldKind.SInt32 or RpcFieldKind.SFixed32 =>
            (typeof(int), ArgumentText.Plain),
        RpcFieldKind.Int64 or RpcFieldKind.SInt64 or RpcFieldKind.SFixed64 =>
            (typeof(long), ArgumentText.Plain),
        RpcFieldKind.UInt32 or RpcFieldKind.Fixed32 => (typeof(uint), ArgumentText.Plain),
        RpcFieldKind.UInt64 or RpcFieldKind.Fixed64 => (typeof(ulong), ArgumentText.Plain),
        RpcFieldKind.Bool => (typeof(bool), ArgumentText.Bool),
        RpcFieldKind.String or RpcFieldKind.Enum => (typeof(string), ArgumentText.Plain),
        RpcFieldKind.Bytes => (typeof(byte[]), ArgumentText.Bytes),
        _ => MessageOf(field),
    };

    // Written down, since programs that are compiled ahead of time make no types.
    private static Type ListOf(Type element) =>
        element == typeof(string) ? typeof(string[])
        : element == typeof(int) ? typeof(int[])
        : element == typeof(long) ? typeof(long[])
        : element == typeof(uint) ? typeof(uint[])
        : element == typeof(ulong) ? typeof(ulong[])
        : element == typeof(double) ? typeof(double[])
        : element == typeof(float) ? typeof(float[])
        : element == typeof(bool) ? typeof(bool[])
        : typeof(object[]);

    private static (Type Type, ArgumentText Text) MessageOf(RpcFieldInfo field) =>
        WellKnownTypes.Of(field.MessageType!) switch
        {
            WellKnownType.Timestamp => (typeof(DateTimeOffset), ArgumentText.Timestamp),
            WellKnownType.Duration => (typeof(TimeSpan), ArgumentText.Duration),
            WellKnownType.Wrapper => ElementOf(field.MessageType!.Fields[0]),
            WellKnownType.FieldMask => (typeof(string[]), ArgumentText.Plain),
            _ => (typeof(object), ArgumentText.Plain),
        };
}
