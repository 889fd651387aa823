using System.Collections;
using System.Globalization;
using ProtoRpc.Messages;

namespace ProtoRpc.Server.Recording;

/// <summary>One run of taking values out of a message.</summary>
/// <param name="mask">Which values.</param>
/// <param name="hidden">Gets them.</param>
internal sealed class MaskingRun(MessageMask mask, ICollection<string> hidden)
{
    private readonly List<(string, string)> _path = [];

    public void Visit(DynamicMessage message)
    {
        switch (message.Layout.WellKnown)
        {
            case WellKnownType.Any:
                VisitAny(message);
                return;
            case WellKnownType.Struct or WellKnownType.ListValue or WellKnownType.Value:
                VisitJson(message);
                return;
        }

        foreach (FieldLayout field in message.Layout.Fields)
        {
            if (message.Has(field))
            {
                _path.Add((NameOf(field), field.Info.JsonName));
                VisitField(message, field);
                _path.RemoveAt(_path.Count - 1);
            }
        }
    }

    private static string NameOf(FieldLayout field) => field.Info.Name.Trim('[', ']');

    private void VisitField(DynamicMessage message, FieldLayout field)
    {
        if (mask.Covers(_path))
        {
            Hide(message, field);
        }
        else if (field.IsMap)
        {
            VisitMap(message.MapOf(field), field.Value);
        }
        else if (field.IsMessage)
        {
            foreach (DynamicMessage child in MessagesOf(message, field))
            {
                Visit(child);
            }
        }
    }

    private void VisitMap(OrderedDictionary<object, object> map, FieldLayout value)
    {
        foreach (object key in map.Keys.ToArray())
        {
            string name = Convert.ToString(key, CultureInfo.InvariantCulture)!;
            _path.Add((name, name));
            if (mask.Covers(_path))
            {
                map[key] = HiddenOf(value, map[key]);
            }
            else if (map[key] is DynamicMessage child)
            {
                Visit(child);
            }

            _path.RemoveAt(_path.Count - 1);
        }
    }

    // The fields of these are not in the JSON that people see: the keys are the names.
    private void VisitJson(DynamicMessage message)
    {
        foreach (FieldLayout field in message.Layout.Fields.Where(message.Has))
        {
            if (field.IsMap)
            {
                VisitMap(message.MapOf(field), field.Value);
            }
            else if (field.IsMessage)
            {
                foreach (DynamicMessage child in MessagesOf(message, field))
                {
                    Visit(child);
                }
            }
        }
    }

    private void VisitAny(DynamicMessage any)
    {
        FieldLayout type = any.Layout.Fields[0];
        FieldLayout value = any.Layout.Fields[1];
        string url = any.References[type.Slot] as string ?? "";
        byte[] bytes = any.References[value.Slot] as byte[] ?? [];
        try
        {
            if (any.Type.Schema.FindMessage(url[(url.LastIndexOf('/') + 1)..]) is { } known)
            {
                DynamicMessage inner = new(known);
                inner.MergeFrom(bytes, RpcLimits.Default.MaxMessageElements);
                Visit(inner);
                any.StoreReference(value, inner.ToByteArray());
                return;
            }
        }
        catch (RpcException)
        {
        }

        // What cannot be read may hold what is to be hidden.
        any.Clear(type.Info);
        any.Clear(value.Info);
    }

    private void Hide(DynamicMessage message, FieldLayout field)
    {
        if (field.IsMap)
        {
            foreach ((object key, object value) in message.MapOf(field))
            {
                Note(key);
                HiddenOf(field.Value, value);
            }

            message.Clear(field.Info);
        }
        else if (field.IsMessage)
        {
            foreach (DynamicMessage child in MessagesOf(message, field))
            {
                HideAll(child);
            }
        }
        else if (!field.IsRepeated)
        {
            message.Set(field.Info, HiddenOf(field, message.Get(field.Info)!));
        }
        else if (message.References[field.Slot] is List<string> texts)
        {
            texts.ForEach(Note);
            message.Set(field.Info, texts.ConvertAll(_ => MessageMask.Hidden));
        }
        else
        {
            foreach (object value in (IEnumerable)message.References[field.Slot]!)
            {
                Note(value);
            }

            message.Clear(field.Info);
        }
    }

    private void HideAll(DynamicMessage message)
    {
        if (message.Layout.WellKnown is WellKnownType.Any or WellKnownType.FieldMask)
        {
            Array.ForEach(message.Layout.Fields, field => message.Clear(field.Info));
            return;
        }

        foreach (FieldLayout field in message.Layout.Fields.Where(message.Has))
        {
            Hide(message, field);
        }
    }

    private object HiddenOf(FieldLayout field, object value)
    {
        if (value is DynamicMessage child)
        {
            HideAll(child);
            return child;
        }

        Note(value);
        return field.Kind switch
        {
            RpcFieldKind.String => MessageMask.Hidden,
            RpcFieldKind.Bytes => Array.Empty<byte>(),
            RpcFieldKind.Enum => field.Enum!.Values[0].Value,
            _ => ScalarValue.Box(field.Kind, 0),
        };
    }

    // Short ones stand everywhere, and say nothing.
    private void Note(object value)
    {
        if (value is not (byte[] or bool)
            && Convert.ToString(value, CultureInfo.InvariantCulture) is { } text)
        {
            hidden.Add(text);
        }
    }

    private static IEnumerable<DynamicMessage> MessagesOf(DynamicMessage message, FieldLayout field) =>
        message.References[field.Slot] switch
        {
            DynamicMessage one => [one],
            List<DynamicMessage> many => many,
            _ => [],
        };
}
